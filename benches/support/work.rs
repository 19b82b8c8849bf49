//! What the benches grant: invented, as long as real names are, and the same on every run.

/// Accounts that grants are spread over.
pub(crate) const ACCOUNTS: usize = 100_000;

/// A grant as a caller knows it.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    /// Which account.
    pub(crate) account: usize,
    pub(crate) key: String,
    pub(crate) points: u64,
}

/// The name of an account, 5 to 8 bytes.
pub(crate) fn account_name(account: usize) -> String {
    match account % 4 {
        0 => format!("{account:05}"),
        1 => format!("c{account:05}"),
        2 => format!("cu{account:05}"),
        _ => format!("cus{account:05}"),
    }
}

/// All names.
pub(crate) fn account_names() -> Vec<String> {
    (0..ACCOUNTS).map(account_name).collect()
}

/// The `index`-th grant of a stream. No two grants of all streams share a key.
pub(crate) fn grant(stream: u64, index: u64, accounts: usize) -> Grant {
    let random = mix((stream << 40) ^ index);
    Grant {
        account: (random % accounts as u64) as usize,
        // 12 to 14 bytes.
        key: format!("{}-{stream:02x}{index:07}", ["or", "ord", "ordr"][(random >> 32) as usize % 3]),
        points: 1 + (random >> 40) % 100,
    }
}

/// Spreads bits; the finisher of SplitMix64.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
