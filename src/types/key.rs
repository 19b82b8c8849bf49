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
        text::check(Field::Key, text, Self::MAX)?;
        Ok(Self(Arc::from(text)))
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
