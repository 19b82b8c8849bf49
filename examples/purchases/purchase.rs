//! One line of the file: a purchase, or why it is none.

use std::fmt;

use csv::ByteRecord;
use pointstore::{AccountId, Command, IdempotencyKey, Points};

/// The columns, in this order.
pub(crate) const COLUMNS: [&str; 5] = ["order_id", "customer_id", "date", "items", "dollars"];

/// Why a line grants nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// A purchase as it should be, of less than a dollar.
    NoWholeDollar,
    /// Not a purchase; the text says what is wrong with it.
    Malformed(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWholeDollar => f.write_str("earns no points"),
            Self::Malformed(what) => f.write_str(what),
        }
    }
}

/// The grant for a line: the order is the key, the customer the account, a point for every whole dollar.
pub(crate) fn grant(record: &ByteRecord) -> Result<Command, Reason> {
    let mut fields = [""; COLUMNS.len()];
    if record.len() != fields.len() {
        return Err(malformed(format!("has {} fields instead of {}", record.len(), fields.len())));
    }
    for ((text, bytes), name) in fields.iter_mut().zip(record).zip(COLUMNS) {
        *text = std::str::from_utf8(bytes).map_err(|_| malformed(format!("{name} is not UTF-8")))?;
    }
    let [order_id, customer_id, date, items, dollars] = fields;
    let key = IdempotencyKey::new(order_id).map_err(|error| malformed(format!("order_id: {error}")))?;
    let account = AccountId::new(customer_id).map_err(|error| malformed(format!("customer_id: {error}")))?;
    // Neither is needed for the points. A line where they make no sense may have its columns mixed up.
    if !is_date(date) {
        return Err(malformed("date is not a year, month and day".into()));
    }
    if !is_digits(items) {
        return Err(malformed("items is not a whole number".into()));
    }
    Ok(Command::grant(account, key, points(dollars)?))
}

/// The whole dollars of an amount, read off its digits: no rounding, and no binary fractions.
fn points(dollars: &str) -> Result<Points, Reason> {
    let (whole, cents) = dollars.split_once('.').unwrap_or((dollars, "0"));
    if !is_digits(whole) || !is_digits(cents) {
        return Err(malformed("dollars is not an amount".into()));
    }
    if whole.bytes().all(|digit| digit == b'0') {
        return Err(Reason::NoWholeDollar);
    }
    whole.parse().map_err(|error| malformed(format!("dollars: {error}")))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_date(text: &str) -> bool {
    let in_range = |text: &str, len, max: u32| {
        text.len() == len && is_digits(text) && text.parse().is_ok_and(|n: u32| (1..=max).contains(&n))
    };
    let mut parts = text.split('-');
    let date = (parts.next(), parts.next(), parts.next(), parts.next());
    matches!(date, (Some(year), Some(month), Some(day), None)
        if in_range(year, 4, 9999) && in_range(month, 2, 12) && in_range(day, 2, 31))
}

fn malformed(what: String) -> Reason {
    Reason::Malformed(what)
}
