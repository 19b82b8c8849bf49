//! However many threads read it, a journal is judged in order, to its end, or not at all (I7, I11).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::engine::{Found, Mark, NewPage, Shortage};
use crate::journal::{Chain, GroupHeader, Packer, StoreId};
use crate::limits::Limits;
use crate::types::{Balance, Entry, IdempotencyKey, Operation, Points, Receipt, ReceiptParts, Timestamp};

const STORE: StoreId = StoreId([7; 16]);

/// Pages that a scan hands out at once.
const PAGES_AT_ONCE: usize = 2;
const PAGES: u64 = 41;
const SCANS: usize = 21;

/// What a scan does instead of reading.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Io,
    Nonsense,
    Panic,
}

/// Pages that can be scanned, each a group of one entry. Whatever else an engine does is not asked of it.
#[derive(Debug)]
struct Shelf {
    pages: Vec<NewPage>,
    /// What comes of so many scans.
    trouble: Option<(usize, Trouble)>,
    scans: AtomicUsize,
}

impl Shelf {
    fn new(trouble: Option<(usize, Trouble)>) -> Self {
        let mut pages = Vec::new();
        let (mut chain, mut granted) = (Chain::seed(STORE), 0);
        for number in 1..=PAGES {
            let mut packer = Packer::new(Limits::STANDARD);
            packer.push(&entry(number)).expect("there is room");
            let header = GroupHeader {
                store: STORE,
                first: number,
                chain,
                granted,
                redeemed: 0,
                time: Timestamp::default(),
            };
            let group = packer.finish(&header);
            (chain, granted) = (group.chain, group.granted);
            pages.extend(group.pages);
        }
        Self { pages, trouble, scans: AtomicUsize::new(0) }
    }

    fn scan_on(&self, threads: usize) -> Result<Audit, OpenError> {
        scan_on(threads, self, Audit::new(STORE, &[]), |_| ())
    }

    fn scans(&self) -> usize {
        self.scans.load(Ordering::SeqCst)
    }
}

/// The n-th entry of the only account.
fn entry(number: u64) -> Entry {
    let points = Points::new(5).unwrap();
    let balance_after = (0..number).fold(Balance::ZERO, |sum, _| sum.checked_add(points).unwrap());
    let receipt = Receipt::from_parts(ReceiptParts {
        number,
        key: IdempotencyKey::new(format!("k{number}")).unwrap(),
        operation: Operation::Grant,
        points,
        balance_after,
        sequence: number,
        ..ReceiptParts::sample()
    });
    Entry { receipt, place: 0, list_len: 1, previous: number - 1 }
}

impl Engine for Shelf {
    fn scan(&self, from: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<Option<u64>, Fault> {
        let scans = self.scans.fetch_add(1, Ordering::SeqCst);
        match self.trouble {
            Some((at, trouble)) if at == scans => match trouble {
                Trouble::Io => return Err(Fault::io("cannot scan", &io::Error::other("gone"))),
                Trouble::Nonsense => return Err(Fault::new("nonsense")),
                Trouble::Panic => panic!("lost"),
            },
            _ => {}
        }
        let pages = self.pages.iter().filter(|(first, _)| *first >= from).take(PAGES_AT_ONCE);
        let mut next = None;
        for (first, page) in pages {
            visit(*first, page);
            next = Some(first + 1);
        }
        Ok(next)
    }

    fn store(&self) -> StoreId {
        STORE
    }

    fn found(&self) -> Found {
        unreachable!()
    }

    fn truncate(&self, _: u64) -> Result<(), Fault> {
        unreachable!()
    }

    fn accept(&self, _: Mark) -> Result<(), Fault> {
        unreachable!()
    }

    fn reject(&self) {}

    fn room(&self) -> Result<(), Shortage> {
        unreachable!()
    }

    fn append(&self, _: &[NewPage]) -> Result<(), Fault> {
        unreachable!()
    }

    fn sync(&self) -> Result<(), Fault> {
        unreachable!()
    }

    fn mark(&self, _: Mark) -> Result<(), Fault> {
        unreachable!()
    }

    fn page(&self, _: u64, _: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
        unreachable!()
    }

    fn keeps(&self, _: &Path) -> bool {
        unreachable!()
    }

    fn close(&self, _: Option<Mark>) -> Result<(), Fault> {
        unreachable!()
    }
}

// I3, I7
#[test]
fn a_journal_is_read_to_its_end_by_however_many_threads() {
    let whole = Shelf::new(None).scan_on(1).unwrap().end().index;
    for threads in 1..=4 {
        for _ in 0..20 {
            let shelf = Shelf::new(None);
            let audited = shelf.scan_on(threads).unwrap().end();
            assert_eq!((audited.index.tail, audited.unfinished_pages), (whole.tail, 0), "threads={threads}");
            assert_eq!((audited.index.tail.next, audited.index.receipts.len()), (PAGES + 1, PAGES));
            assert_eq!(audited.index.accounts.at(0), whole.accounts.at(0));
            // One more than there are batches, which finds nothing.
            assert_eq!(shelf.scans(), SCANS + 1);
        }
    }
}

// I10: what failed once is not tried again, by any thread.
#[test]
fn a_scan_that_fails_ends_it_with_its_error() {
    for threads in 1..=3 {
        for at in [0, 1, SCANS / 2, SCANS] {
            for trouble in [Trouble::Io, Trouble::Nonsense, Trouble::Panic] {
                let shelf = Shelf::new(Some((at, trouble)));
                let refused = shelf.scan_on(threads).unwrap_err();
                let what = match refused {
                    OpenError::Io(fault) => fault.to_string(),
                    OpenError::Corrupt { what, file: None } => what.to_string(),
                    other => panic!("{other}"),
                };
                let expected = match trouble {
                    Trouble::Io => "cannot scan: gone",
                    Trouble::Nonsense => "nonsense",
                    Trouble::Panic => "a panic while the journal was read: lost",
                };
                assert_eq!(what, expected, "threads={threads} at={at}");
                assert_eq!(shelf.scans(), at + 1, "threads={threads} {trouble:?}");
            }
        }
    }
}

// I11
#[test]
fn the_first_thing_that_is_wrong_is_reported_whoever_reads_it() {
    for threads in 1..=3 {
        for (bad, others) in [(1, 3), (6, 7), (20, 41), (41, 41)] {
            let mut shelf = Shelf::new(None);
            for (first, page) in &mut shelf.pages {
                if *first == bad || *first == others {
                    page.push(0);
                }
            }
            let refused = shelf.scan_on(threads).unwrap_err().to_string();
            assert!(refused.ends_with(&format!("checksum, entry={bad}")), "threads={threads}: {refused}");
        }
    }
}

// I7: what was not judged is never taken for not being there.
#[test]
fn a_page_that_is_missing_or_too_long_is_seen_by_however_many_threads() {
    for threads in 1..=3 {
        let mut shelf = Shelf::new(None);
        shelf.pages.remove(20);
        let refused = shelf.scan_on(threads).unwrap_err().to_string();
        assert!(refused.contains("entries are missing"), "{refused}");
        let mut shelf = Shelf::new(None);
        shelf.pages[20].1.resize(10 * PAGE_LEN_MAX, 0);
        let refused = shelf.scan_on(threads).unwrap_err().to_string();
        assert!(refused.contains("impossible length"), "{refused}");
    }
}

#[test]
fn progress_is_told_on_the_opening_thread_and_never_falls() {
    for threads in 1..=3 {
        let told = Mutex::new(Vec::new());
        let opening = thread::current().id();
        let report = |entries| {
            assert_eq!(thread::current().id(), opening);
            told.lock().push(entries);
        };
        scan_on(threads, &Shelf::new(None), Audit::new(STORE, &[]), report).unwrap();
        let told = told.into_inner();
        assert!(told.is_sorted() && told.last() == Some(&PAGES), "{told:?}");
        if threads == 1 {
            assert_eq!(told.len(), SCANS + 2, "once a scan, and at the end");
        }
    }
}

#[test]
fn whoever_is_told_of_progress_may_panic_and_no_thread_waits_for_it() {
    for threads in 1..=3 {
        let shelf = Shelf::new(None);
        let cut_short = || scan_on(threads, &shelf, Audit::new(STORE, &[]), |_| panic!("cut short"));
        let payload = catch_unwind(AssertUnwindSafe(cut_short)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"cut short"), "threads={threads}");
        if threads == 1 {
            assert_eq!(shelf.scans(), 1);
        }
    }
}

// I7
#[test]
fn a_batch_that_nobody_judged_is_missed() {
    let shelf = Shelf::new(None);
    let scan = Scan::new(&shelf, Audit::new(STORE, &[]));
    let mut batch = Batch::default();
    assert_eq!(scan.take(&mut batch), Some((0, Ok(()))));
    assert_eq!(batch.pages().map(|(first, _)| first).collect::<Vec<_>>(), [1, 2]);
    drop(StopReading(&scan));
    assert_eq!(scan.take(&mut batch), None, "nothing more is read");
    let refused = scan.into_audit().unwrap_err().to_string();
    assert!(refused.contains("not read to its end"), "{refused}");
}

/// Takes the next batch, and reads what it says.
fn taken(scan: &Scan<'_>) -> (u64, Result<Vec<Facts>, Fault>) {
    let mut batch = Batch::default();
    let (turn, taken) = scan.take(&mut batch).expect("there is one");
    (turn, taken.map(|()| batch.pages().map(|(first, page)| scan.reader.read(first, page)).collect()))
}

/// Lets others go on; whoever does not wait as it should has time to show it.
fn give_way() {
    (0..1_000).for_each(|_| thread::yield_now());
}

// I3
#[test]
fn a_batch_waits_for_those_before_it() {
    let shelf = Shelf::new(None);
    let scan = Scan::new(&shelf, Audit::new(STORE, &[]));
    let [first, second, third] = [taken(&scan), taken(&scan), taken(&scan)];
    let judge = |(turn, facts)| scan.judge_in_turn(turn, facts).unwrap();
    thread::scope(|scope| {
        let third = scope.spawn(|| judge(third));
        let second = scope.spawn(|| judge(second));
        give_way();
        assert_eq!(judge(first), Some(2));
        assert_eq!((second.join().unwrap(), third.join().unwrap()), (Some(4), Some(6)));
    });
}

// I11
#[test]
fn of_all_that_is_wrong_the_first_is_told_and_nobody_waits_for_more() {
    // What is wrong with the third page is found before the second scan fails, whoever is first.
    let mut shelf = Shelf::new(Some((2, Trouble::Io)));
    shelf.pages[2].1.push(0);
    let scan = Scan::new(&shelf, Audit::new(STORE, &[]));
    let [first, second, third] = [taken(&scan), taken(&scan), taken(&scan)];
    assert!(scan.take(&mut Batch::default()).is_none(), "after an error nothing is left");
    thread::scope(|scope| {
        let third = scope.spawn(|| scan.judge_in_turn(third.0, third.1));
        give_way();
        assert!(matches!(scan.judge_in_turn(first.0, first.1), Ok(Some(2))));
        let Err(why) = scan.judge_in_turn(second.0, second.1) else { panic!("the third page is wrong") };
        scan.end(why);
        assert!(matches!(third.join().unwrap(), Ok(None)));
    });
    scan.end(Fault::new("later").into());
    let refused = scan.into_audit().unwrap_err().to_string();
    assert!(refused.ends_with("checksum, entry=3"), "{refused}");
}

/// Reads a journal when it is dropped.
struct AtLast<'a>(&'a Mutex<Option<Audit>>);

impl Drop for AtLast<'_> {
    fn drop(&mut self) {
        *self.0.lock() = Shelf::new(None).scan_on(3).ok();
    }
}

// I7: to put things right is what a guard may open a store for.
#[test]
fn a_journal_that_is_read_while_its_thread_panics_is_read_to_its_end() {
    for _ in 0..20 {
        let read = Mutex::new(None);
        let panics = || {
            let _at_last = AtLast(&read);
            panic!("undone");
        };
        catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(read.into_inner().map(|audit| audit.entries()), Some(PAGES));
    }
}
