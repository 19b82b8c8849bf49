//! The short note that can travel with a request and stays in its receipt.

use std::sync::Arc;

use super::text::{self, text_conversions};
use super::{Field, InvalidCommand};

/// A short note kept with a receipt, such as the reason for a grant.
///
/// It is part of the payload: the same key with another memo is another request, and is refused. So put nothing in
/// it that changes from attempt to attempt.
///
/// A memo has 1 to [`MAX`](Self::MAX) bytes of UTF-8, is not blank, and contains no control character; a request
/// without a note has no memo rather than an empty one. Memos are compared byte for byte. Cloning copies no text.
///
/// # Examples
///
/// ```
/// use pointstore::Memo;
///
/// let memo = Memo::new("welcome gift")?;
/// assert_eq!(memo.as_str(), "welcome gift");
/// assert_eq!(memo, "welcome gift".parse()?);
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memo(Arc<str>);

impl Memo {
    /// The most bytes of UTF-8 a memo may have.
    pub const MAX: usize = 128;

    /// Checks a text and keeps it as a memo.
    ///
    /// # Errors
    ///
    /// [`InvalidCommand`] when the text is empty, longer than [`MAX`](Self::MAX) bytes, blank, or contains a control
    /// character. The same text is refused every time.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{Field, InvalidCommand, Memo};
    ///
    /// assert!(Memo::new("thanks, Zoë").is_ok());
    /// assert_eq!(
    ///     Memo::new("two\nlines"),
    ///     Err(InvalidCommand::ControlCharacter { field: Field::Memo, at: 3 }),
    /// );
    /// ```
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidCommand> {
        let text = text.as_ref();
        Self::check(text)?;
        Ok(Self(Arc::from(text)))
    }

    /// Whether a text would pass, without keeping it.
    pub(crate) fn check(text: &str) -> Result<(), InvalidCommand> {
        text::check(Field::Memo, text, Self::MAX)
    }

    /// The text of the memo, exactly as it was given.
    ///
    /// # Examples
    ///
    /// ```
    /// let memo = pointstore::Memo::new("returned goods")?;
    /// assert_eq!(memo.as_str(), "returned goods");
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_conversions!(Memo);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_to_max_bytes_are_accepted() {
        assert!(Memo::new("x").is_ok());
        assert!(Memo::new("x".repeat(128)).is_ok());
        let (field, len, max) = (Field::Memo, 129, 128);
        let error = InvalidCommand::TooLong { field, len, max };
        assert_eq!(Memo::new("x".repeat(129)), Err(error));
    }

    #[test]
    fn every_way_to_make_one_goes_through_the_checks() {
        let error = Err(InvalidCommand::Blank { field: Field::Memo });
        assert_eq!(Memo::new(" "), error);
        assert_eq!(" ".parse::<Memo>(), error);
        assert_eq!(Memo::try_from(" "), error);
        assert_eq!(Memo::try_from(" ".to_owned()), error);
        assert!(serde_json::from_str::<Memo>(r#"" ""#).is_err());
    }

    #[test]
    fn a_clone_shares_the_text() {
        let first = Memo::new("x").unwrap();
        assert!(Arc::ptr_eq(&first.0, &first.clone().0));
    }

    proptest! {
        #[test]
        fn any_text_is_kept_byte_for_byte_or_refused(text in ".{0,138}") {
            if let Ok(made) = Memo::new(&text) {
                prop_assert_eq!(made.as_str(), &*text);
                prop_assert_eq!(made.to_string(), &*text);
                prop_assert_eq!(made.as_ref(), &*text);
                let json = serde_json::to_string(&made).unwrap();
                prop_assert_eq!(&json, &serde_json::to_string(&text).unwrap());
                prop_assert_eq!(serde_json::from_str::<Memo>(&json).unwrap(), made);
            }
        }
    }
}
