//! What kind of error it is, which is to say: what the caller does next.

use std::fmt;

use serde::Serialize;

/// What an error means for the caller, whichever operation it came from.
///
/// | kind | what happened | transient | what the caller does |
/// |---|---|---|---|
/// | [`Invalid`](Self::Invalid) | the input can never be accepted | no | correct the input; this is final |
/// | [`KeyReused`](Self::KeyReused) | the key stands for another request; nothing changed | no | find out which of the two was meant; this is final |
/// | [`Rejected`](Self::Rejected) | a rule of the ledger refused the request; nothing changed, the key is unused | no | tell whoever asked; this is final |
/// | [`Busy`](Self::Busy) | for what is built in front of a store: it has no room for more work; nothing was attempted | yes | wait, then retry the same command |
/// | [`NotAttempted`](Self::NotAttempted) | nothing was written: the disk is full, the store failed just before, or a limit of what is in front of it was over | yes | retry the same command; where `needs_reopen` says so, close the store and open it again first |
/// | [`OutcomeUnknown`](Self::OutcomeUnknown) | the command may or may not have been applied | yes | retry with the *same* key; where `needs_reopen` says so, close the store and open it again first |
/// | [`Corrupt`](Self::Corrupt) | stored data is damaged or missing; the evidence is kept | no | stop, keep the directory, restore a backup |
/// | [`Closed`](Self::Closed) | this handle is finished | no | close it if that was not you, open the store again, then retry with the same key |
/// | [`Unavailable`](Self::Unavailable) | it could not be done now (failed read, store in use, disk full at opening); nothing changed | yes | remove the cause if it lasts, then try again |
///
/// *Transient* means that the same request can succeed later without anyone changing it. Whether the handle has to be
/// replaced for that says [`ApplyError::needs_reopen`](crate::ApplyError::needs_reopen), which has an example, and the
/// method of that name of what is in front of a store.
///
/// # Examples
///
/// ```
/// use pointstore::{ErrorKind, Points};
///
/// let error = Points::new(0).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert!(!error.kind().is_transient());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input can never be accepted.
    Invalid,
    /// The key stands for another request; nothing changed.
    KeyReused,
    /// A rule of the ledger refused the request; nothing changed, and the key is not used up.
    Rejected,
    /// What is built in front of a store has no room for more work. The store itself never answers this.
    Busy,
    /// Nothing was written; the same command can be tried again.
    NotAttempted,
    /// The command may or may not have been applied; only a retry with the same key tells.
    OutcomeUnknown,
    /// Stored data is damaged or missing.
    Corrupt,
    /// This handle is finished; the store has to be opened again.
    Closed,
    /// It could not be done now, and nothing changed.
    Unavailable,
}

impl ErrorKind {
    /// Whether the same request can succeed later without a change, perhaps on a store that was opened again.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::ErrorKind;
    ///
    /// assert!(ErrorKind::OutcomeUnknown.is_transient());
    /// assert!(!ErrorKind::Closed.is_transient());
    /// ```
    pub fn is_transient(self) -> bool {
        match self {
            Self::Busy | Self::NotAttempted | Self::OutcomeUnknown | Self::Unavailable => true,
            Self::Invalid | Self::KeyReused | Self::Rejected | Self::Corrupt | Self::Closed => false,
        }
    }
}

/// A lowercase word for logs and metrics, such as `key_reused`.
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Invalid => "invalid",
            Self::KeyReused => "key_reused",
            Self::Rejected => "rejected",
            Self::Busy => "busy",
            Self::NotAttempted => "not_attempted",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Corrupt => "corrupt",
            Self::Closed => "closed",
            Self::Unavailable => "unavailable",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ErrorKind; 9] = [
        ErrorKind::Invalid,
        ErrorKind::KeyReused,
        ErrorKind::Rejected,
        ErrorKind::Busy,
        ErrorKind::NotAttempted,
        ErrorKind::OutcomeUnknown,
        ErrorKind::Corrupt,
        ErrorKind::Closed,
        ErrorKind::Unavailable,
    ];

    #[test]
    fn exactly_these_kinds_are_transient() {
        let transient: Vec<_> = ALL.into_iter().filter(|kind| kind.is_transient()).collect();
        assert_eq!(
            transient,
            [ErrorKind::Busy, ErrorKind::NotAttempted, ErrorKind::OutcomeUnknown, ErrorKind::Unavailable,]
        );
    }

    #[test]
    fn every_kind_has_a_word_for_logs() {
        insta::assert_snapshot!(
            ALL.map(|kind| kind.to_string()).join(" "),
            @"invalid key_reused rejected busy not_attempted outcome_unknown corrupt closed unavailable"
        );
    }
}
