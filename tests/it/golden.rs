//! The bytes that reach the disk, fixed: what was written once is read for ever, and nothing else is (I9, I11).
//!
//! The page is made through the public API, on a simulated disk with a fixed identity and a clock that stands
//! still. The other files of a store have their golden bytes beside the code that writes them.

use std::collections::BTreeMap;

use pointstore::testing::SimDisk;
use pointstore::{
    AccountId, Command, ErrorKind, ManualClock, Memo, OpenError, PointStore, Points, Receipt, Timestamp,
};

/// The seed of the simulated disk, and so the store's identity.
const SEED: u64 = 7;

const PAGE: &str = include_str!("../golden/page-v1.hex");
const SECOND_PAGE: &str = include_str!("../golden/page-v1-second.hex");

/// What the first golden page holds: every kind of field, short and long, present and absent.
fn first_group() -> Vec<Command> {
    let points = |n| Points::new(n).unwrap();
    let plain = AccountId::new("ada").unwrap();
    let tenant = AccountId::in_tenant("shop-7", "ä/€").unwrap();
    let memo = Memo::new("socks & \u{2028}").unwrap();
    vec![
        Command::grant(plain.clone(), "order-99".parse().unwrap(), points(500)),
        Command::redeem(plain, "gift-1".parse().unwrap(), points(250)),
        Command::grant(tenant.clone(), "k".repeat(255).parse().unwrap(), points(i64::MAX)).with_memo(memo),
        Command::redeem(tenant, "<b>é".parse().unwrap(), points(70_000)),
    ]
}

/// What the second holds: an atomic list of two.
fn second_group() -> Vec<Command> {
    let points = Points::new(100).unwrap();
    vec![
        Command::redeem("ada".parse().unwrap(), "move-1".parse().unwrap(), points),
        Command::grant("bob".parse().unwrap(), "move-1".parse().unwrap(), points),
    ]
}

/// A disk that a store has written the two groups to.
fn written() -> (SimDisk, Vec<Receipt>) {
    let disk = SimDisk::new(SEED);
    let clock = ManualClock::at(Timestamp::from_unix_millis(1_767_225_600_123));
    let store = PointStore::builder().clock(clock.clone()).open_simulated(&disk).unwrap();
    assert!(store.apply_each(&first_group()).iter().all(Result::is_ok));
    clock.set(Timestamp::from_unix_millis(1_767_225_600_124));
    store.apply_atomic(&second_group()).unwrap();
    let receipts = store.journal(0).map(Result::unwrap).collect();
    (disk, receipts)
}

fn hex(bytes: &[u8]) -> String {
    let lines: Vec<String> =
        bytes.chunks(32).map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    lines.join("\n") + "\n"
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The golden pages by the numbers of their first entries.
fn golden() -> BTreeMap<u64, Vec<u8>> {
    BTreeMap::from([(1, unhex(PAGE)), (5, unhex(SECOND_PAGE))])
}

/// Opens a store on a disk that holds just these pages.
fn open(pages: BTreeMap<u64, Vec<u8>>) -> Result<PointStore, OpenError> {
    let disk = SimDisk::new(SEED);
    disk.replace_pages(pages);
    PointStore::builder().open_simulated(&disk)
}

fn assert_refused(pages: BTreeMap<u64, Vec<u8>>, what: &str) {
    match open(pages) {
        Ok(_) => panic!("not refused: {what}"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}"),
    }
}

#[test]
fn pages_are_written_as_they_always_were() {
    let (disk, _) = written();
    let pages = disk.durable_pages();
    assert_eq!(pages.keys().copied().collect::<Vec<_>>(), [1, 5]);
    assert_eq!(hex(&pages[&1]), PAGE, "the first page:\n{}", hex(&pages[&1]));
    assert_eq!(hex(&pages[&5]), SECOND_PAGE, "the second page:\n{}", hex(&pages[&5]));
}

#[test]
fn golden_pages_open_with_the_receipts_that_were_written() {
    let store = open(golden()).unwrap();
    assert_eq!(store.journal(0).map(Result::unwrap).collect::<Vec<_>>(), written().1);
    assert_eq!(store.opened().entries(), 6);
    assert_eq!(store.position().to_string(), "6-2446d320");
    assert_eq!(store.balance(&"ada".parse().unwrap()).get(), 150);
    // They are what a retry of then is compared with.
    for command in first_group() {
        assert!(store.apply(&command).unwrap().is_replay());
    }
    assert!(store.apply_atomic(&second_group()).unwrap().iter().all(pointstore::Outcome::is_replay));
    store.verify().unwrap();
}

#[test]
fn i11_every_flipped_bit_of_a_page_is_refused() {
    for (first, page) in golden() {
        for bit in 0..page.len() * 8 {
            let mut pages = golden();
            pages.get_mut(&first).unwrap()[bit / 8] ^= 1 << (bit % 8);
            assert_refused(pages, &format!("page {first}, bit {bit}"));
        }
    }
}

#[test]
fn i11_every_shortened_or_lengthened_page_is_refused() {
    for (first, page) in golden() {
        for len in 0..page.len() {
            let mut pages = golden();
            pages.insert(first, page[..len].to_vec());
            assert_refused(pages, &format!("page {first}, len {len}"));
        }
        for more in [vec![0], vec![0; 5000], page.clone()] {
            let mut pages = golden();
            pages.insert(first, [page.clone(), more].concat());
            assert_refused(pages, &format!("page {first}, longer"));
        }
    }
}

#[test]
fn i11_a_page_under_another_key_or_of_another_store_is_refused() {
    for key in [0, 2, 4, 6, u64::MAX] {
        let pages = BTreeMap::from([(1, unhex(PAGE)), (key, unhex(SECOND_PAGE))]);
        assert_refused(pages, &format!("key {key}"));
        assert_refused(BTreeMap::from([(key, unhex(PAGE))]), &format!("key {key}"));
    }
    let disk = SimDisk::new(SEED + 1);
    disk.replace_pages(golden());
    let error = PointStore::builder().open_simulated(&disk).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn i11_a_missing_page_before_others_is_refused() {
    assert_refused(BTreeMap::from([(5, unhex(SECOND_PAGE))]), "the first page is missing");
}

#[test]
fn i11_what_is_missing_at_the_end_is_refused_where_it_was_acknowledged() {
    let (disk, _) = written();
    for kept in [vec![], vec![1]] {
        let disk = disk.clone();
        disk.kill();
        let mut pages = golden();
        pages.retain(|first, _| kept.contains(first));
        disk.replace_pages(pages);
        match PointStore::builder().open_simulated(&disk) {
            Ok(_) => panic!("not refused"),
            Err(OpenError::RolledBack { expected: 6, found, .. }) => assert_eq!(found, 4 * kept.len() as u64),
            Err(error) => panic!("{error:?}"),
        }
    }
}
