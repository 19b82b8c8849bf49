//! The answer to a request that stands.
//!
//! Keeps its share of I4: a replay carries the receipt that was saved, not a new one.

use serde::{Deserialize, Serialize};

use super::Receipt;

/// The answer to a request that stands: now, or already before.
///
/// Both carry the one receipt of the request, and both mean success; most callers need not tell them apart.
///
/// # Examples
///
/// ```
/// use pointstore::{Outcome, Receipt};
///
/// let receipt: Receipt = serde_json::from_str(
///     r#"{
///         "number": 1, "account": {"name": "ada"}, "operation": "grant", "key": "order-99", "points": 500,
///         "balance_after": 500, "sequence": 1, "recorded_at": 1767225600123
///     }"#,
/// )?;
/// let (first, retry) = (Outcome::Applied(receipt.clone()), Outcome::Replayed(receipt));
/// assert!(retry.is_replay() && !first.is_replay());
/// assert_eq!(first.receipt(), retry.receipt());
/// assert_eq!(retry.into_receipt().balance_after().get(), 500);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// This attempt had the effect.
    Applied(Receipt),
    /// An earlier attempt had it; nothing was changed, and the receipt is the one saved then.
    Replayed(Receipt),
}

impl Outcome {
    /// The receipt, whichever attempt it comes from.
    pub fn receipt(&self) -> &Receipt {
        match self {
            Self::Applied(receipt) | Self::Replayed(receipt) => receipt,
        }
    }

    /// The receipt by value, whichever attempt it comes from.
    pub fn into_receipt(self) -> Receipt {
        match self {
            Self::Applied(receipt) | Self::Replayed(receipt) => receipt,
        }
    }

    /// Whether an earlier attempt had the effect.
    pub fn is_replay(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ReceiptParts;

    #[test]
    fn both_outcomes_carry_the_receipt_and_only_one_is_a_replay() {
        let receipt = Receipt::from_parts(ReceiptParts::sample());
        let applied = Outcome::Applied(receipt.clone());
        let replayed = Outcome::Replayed(receipt.clone());
        assert_eq!((applied.receipt(), applied.is_replay()), (&receipt, false));
        assert_eq!((replayed.receipt(), replayed.is_replay()), (&receipt, true));
        assert_eq!(applied.into_receipt(), receipt);
        assert_eq!(replayed.into_receipt(), receipt);
    }

    #[test]
    fn an_outcome_is_named_in_serde() {
        let replayed = Outcome::Replayed(Receipt::from_parts(ReceiptParts::sample()));
        let written = serde_json::to_value(&replayed).unwrap();
        assert_eq!(written["replayed"]["number"], 41);
        assert_eq!(serde_json::from_value::<Outcome>(written).unwrap(), replayed);
    }
}
