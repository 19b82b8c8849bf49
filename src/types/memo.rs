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
        text::check(Field::Memo, text, Self::MAX)?;
        Ok(Self(Arc::from(text)))
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
