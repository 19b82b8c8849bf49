//! The key under which a caller asks for one effect, however often it has to ask.

use std::sync::Arc;

use super::text::{self, text_conversions};
use super::{Field, InvalidCommand};

/// The caller's own name for one business operation, such as an order number.
///
/// Within an account and an operation a key has at most one effect: asking again with the same key returns the
/// first receipt. Choose it from what happened in the world (the order, the delivery), never from the content of
/// the request and never anew for each attempt.
///
/// A key has 1 to [`MAX`](Self::MAX) bytes of UTF-8, is not blank, and contains no control character. Keys are
/// compared byte for byte: no letter case, no Unicode normalisation, no trimming. Cloning copies no text.
///
/// # Examples
///
/// ```
/// use pointstore::IdempotencyKey;
///
/// let key = IdempotencyKey::new("order-99")?;
/// assert_eq!(key.as_str(), "order-99");
/// assert_ne!(key, IdempotencyKey::new("Order-99")?);
/// assert_eq!(key, "order-99".parse()?);
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(Arc<str>);

impl IdempotencyKey {
    /// The most bytes of UTF-8 a key may have.
    pub const MAX: usize = 255;

    /// Checks a text and keeps it as a key.
    ///
    /// # Errors
    ///
    /// [`InvalidCommand`] when the text is empty, longer than [`MAX`](Self::MAX) bytes, blank, or contains a control
    /// character. The same text is refused every time.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{Field, IdempotencyKey, InvalidCommand};
    ///
    /// assert!(IdempotencyKey::new("k".repeat(255)).is_ok());
    /// assert_eq!(
    ///     IdempotencyKey::new("k".repeat(256)),
    ///     Err(InvalidCommand::TooLong { field: Field::Key, len: 256, max: 255 }),
    /// );
    /// ```
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidCommand> {
        let text = text.as_ref();
        Self::check(text)?;
        Ok(Self(Arc::from(text)))
    }

    /// Whether a text would pass, without keeping it.
    pub(crate) fn check(text: &str) -> Result<(), InvalidCommand> {
        text::check(Field::Key, text, Self::MAX)
    }

    /// The text of the key, exactly as it was given.
    ///
    /// # Examples
    ///
    /// ```
    /// let key = pointstore::IdempotencyKey::new(" padded ")?;
    /// assert_eq!(key.as_str(), " padded ");
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_conversions!(IdempotencyKey);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_to_max_bytes_are_accepted() {
        assert!(IdempotencyKey::new("x").is_ok());
        assert!(IdempotencyKey::new("x".repeat(255)).is_ok());
        let (field, len, max) = (Field::Key, 256, 255);
        let error = InvalidCommand::TooLong { field, len, max };
        assert_eq!(IdempotencyKey::new("x".repeat(256)), Err(error));
    }

    #[test]
    fn every_way_to_make_one_goes_through_the_checks() {
        let error = Err(InvalidCommand::Blank { field: Field::Key });
        assert_eq!(IdempotencyKey::new(" "), error);
        assert_eq!(" ".parse::<IdempotencyKey>(), error);
        assert_eq!(IdempotencyKey::try_from(" "), error);
        assert_eq!(IdempotencyKey::try_from(" ".to_owned()), error);
        assert!(serde_json::from_str::<IdempotencyKey>(r#"" ""#).is_err());
    }

    // C08
    #[test]
    fn a_key_of_unusual_characters_comes_back_as_it_was() {
        let key = IdempotencyKey::new("<b>é & \u{2028}</b>").unwrap();
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<IdempotencyKey>(&json).unwrap(), key);
    }

    #[test]
    fn keys_are_not_normalised() {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}");
        assert_ne!(IdempotencyKey::new(composed), IdempotencyKey::new(decomposed));
    }

    #[test]
    fn a_clone_shares_the_text() {
        let first = IdempotencyKey::new("x").unwrap();
        assert!(Arc::ptr_eq(&first.0, &first.clone().0));
    }

    proptest! {
        #[test]
        fn any_text_is_kept_byte_for_byte_or_refused(text in ".{0,265}") {
            if let Ok(made) = IdempotencyKey::new(&text) {
                prop_assert_eq!(made.as_str(), &*text);
                prop_assert_eq!(made.to_string(), &*text);
                prop_assert_eq!(made.as_ref(), &*text);
                let json = serde_json::to_string(&made).unwrap();
                prop_assert_eq!(&json, &serde_json::to_string(&text).unwrap());
                prop_assert_eq!(serde_json::from_str::<IdempotencyKey>(&json).unwrap(), made);
            }
        }
    }
}
