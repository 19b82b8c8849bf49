//! What is granted: invented, as long as real names are, and the same on every run and for every peer.

use std::collections::HashMap;

/// Accounts that grants are spread over, unless all go to one.
pub(crate) const ACCOUNTS: u64 = 100_000;

/// A grant as a caller knows it.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) account: String,
    pub(crate) key: String,
    pub(crate) points: u64,
}

/// The name of an account, 12 to 14 bytes.
pub(crate) fn account_name(account: u64) -> String {
    match account % 3 {
        0 => format!("user-{account:07}"),
        1 => format!("buyer-{account:07}"),
        _ => format!("client-{account:07}"),
    }
}

/// The `index`-th grant of a stream. No two grants of all streams share a key.
pub(crate) fn grant(stream: u64, index: u64, accounts: u64) -> Grant {
    let (account, points) = account_and_points(stream, index, accounts);
    // 12 to 14 bytes.
    let prefix = match mix(account ^ index) % 3 {
        0 => "or",
        1 => "ord",
        _ => "ordr",
    };
    Grant { account: account_name(account), key: format!("{prefix}{stream:02x}-{index:07}"), points }
}

fn account_and_points(stream: u64, index: u64, accounts: u64) -> (u64, u64) {
    let random = mix((stream << 40) ^ index);
    (random % accounts, 1 + (random >> 40) % 100)
}

/// Every balance after the first `made[stream]` grants of each stream.
pub(crate) fn expected(made: &[u64], accounts: u64) -> HashMap<String, u64> {
    let mut balances: HashMap<u64, u64> = HashMap::new();
    for (stream, made) in (0..).zip(made) {
        for index in 0..*made {
            let (account, points) = account_and_points(stream, index, accounts);
            *balances.entry(account).or_default() += points;
        }
    }
    balances.into_iter().map(|(account, points)| (account_name(account), points)).collect()
}

/// Spreads bits; the finisher of SplitMix64.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_keys_are_12_to_14_bytes_and_keys_differ() {
        let mut keys = HashSet::new();
        for stream in [0, 1, 63, 255] {
            for index in 0..2000 {
                let grant = grant(stream, index, ACCOUNTS);
                assert!((12..=14).contains(&grant.account.len()), "{}", grant.account);
                assert!((12..=14).contains(&grant.key.len()), "{}", grant.key);
                assert!(keys.insert(grant.key));
            }
        }
    }

    #[test]
    fn expected_balances_are_the_sums_of_the_grants() {
        let mut sums: HashMap<String, u64> = HashMap::new();
        for (stream, made) in [(0, 500), (1, 300)] {
            for index in 0..made {
                let grant = grant(stream, index, 40);
                *sums.entry(grant.account).or_default() += grant.points;
            }
        }
        assert_eq!(sums.len(), 40);
        assert_eq!(expected(&[500, 300], 40), sums);
    }
}
