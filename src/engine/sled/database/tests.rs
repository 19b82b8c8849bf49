//! The log that is longer than what sled has written, with sled itself writing to it, and who waits for whom then.

use std::fs;
use std::sync::mpsc;

use super::*;

/// A generation with nothing in it, and the database on it.
fn database() -> (tempfile::TempDir, Generation, Database) {
    let folder = tempfile::tempdir().unwrap();
    let generation = Generation::numbered(folder.path(), 1);
    fs::create_dir(generation.path()).unwrap();
    let database = Database::open(&generation, 1 << 20).unwrap().synced().unwrap();
    (folder, generation, database)
}

/// A group of one page that is like no other.
fn group(number: u64) -> Vec<NewPage> {
    vec![(number, number.to_string().bytes().cycle().take(4000).collect())]
}

fn write(database: &Database, number: u64) {
    database.append(&group(number)).unwrap();
    database.sync().unwrap();
}

/// Everything in it, as appended.
fn assert_holds(database: &Database, groups: u64) {
    let pages = database.pages(0).map(|page| page.map(|(first, bytes)| (first, bytes.to_vec())));
    let expected: Vec<NewPage> = (1..=groups).flat_map(group).collect();
    assert!(pages.collect::<Result<Vec<_>, _>>().unwrap() == expected);
}

#[test]
fn the_log_grows_before_sled_needs_it_and_is_cut_to_what_sled_wrote() {
    let (_folder, generation, database) = database();
    let len = || fs::metadata(generation.log_path()).unwrap().len();
    let mut lens = Vec::new();
    for number in 1..=600 {
        write(&database, number);
        lens.push(len());
        assert!(len() % SEGMENT_LEN == 0, "sled itself never made it longer");
    }
    lens.dedup();
    assert!((3..8).contains(&lens.len()), "a few steps for some five segments: {lens:?}");
    assert_holds(&database, 600);

    // As a crash leaves it, and as it is closed: sled begins where it had stopped.
    let copy = Generation::numbered(generation.path().parent().unwrap(), 2);
    generation.copy_to(&copy).unwrap();
    assert!(database.drop_wholly());
    for generation in [generation, copy] {
        let long = fs::metadata(generation.log_path()).unwrap().len();
        generation.cut_runway().unwrap();
        let cut = fs::metadata(generation.log_path()).unwrap().len();
        assert!(cut < long && cut % SEGMENT_LEN == 0, "{cut} of {long}");
        let database = Database::open(&generation, 1 << 20).unwrap();
        assert_holds(&database, 600);
        write(&database, 601);
        assert_holds(&database, 601);
    }
}

#[test]
fn sled_finds_the_end_of_its_log_before_zeros_that_were_not_cut_off() {
    let (_folder, generation, database) = database();
    (1..=100).for_each(|number| write(&database, number));
    assert!(database.drop_wholly());
    for round in 0..3 {
        let log = File::options().read(true).write(true).open(generation.log_path()).unwrap();
        let len = log.metadata().unwrap().len();
        Runway::default().extend(&log, len);
        assert!(log.metadata().unwrap().len() > len);
        drop(log);
        let database = Database::open(&generation, 1 << 20).unwrap();
        assert_holds(&database, 100 + round);
        write(&database, 101 + round);
        assert!(database.drop_wholly());
    }
}

#[test]
fn no_zeros_are_written_beside_somebody_who_reads() {
    let (_folder, generation, database) = database();
    let len = || fs::metadata(generation.log_path()).unwrap().len();
    let before = len();
    let reading = database.reading.read();
    write(&database, 1);
    assert_eq!(len().next_multiple_of(SEGMENT_LEN), before.next_multiple_of(SEGMENT_LEN));
    drop(reading);
    write(&database, 2);
    assert!(len() > before + SEGMENT_LEN);
    assert_holds(&database, 2);
}

#[test]
fn whoever_reads_waits_for_who_writes_zeros() {
    let (_folder, _generation, database) = database();
    write(&database, 1);
    let reads: [fn(&Database) -> bool; 2] =
        [|database| database.page(1).unwrap().is_some(), |database| database.pages(0).next().is_some()];
    for read in reads {
        let (tell, told) = mpsc::channel();
        let writing = database.reading.write();
        thread::scope(|scope| {
            let database = &database;
            scope.spawn(move || {
                tell.send(None).unwrap();
                tell.send(Some(read(database))).unwrap();
            });
            assert_eq!(told.recv().unwrap(), None);
            told.recv_timeout(Duration::from_millis(50)).unwrap_err();
            drop(writing);
            assert_eq!(told.recv().unwrap(), Some(true));
        });
    }
}

/// They go behind it, not over it: behind what was there when a group began, and what a reader left meanwhile.
#[test]
fn what_sled_was_to_write_is_written_before_the_zeros() {
    let (_folder, generation, database) = database();
    let log = || fs::read(generation.log_path()).unwrap();
    let holds = |bytes: &[u8], page: &[u8]| bytes.windows(page.len()).any(|bytes| bytes == page);
    let leave = |number: u64| {
        let [(_, page)] = group(number).try_into().unwrap();
        database.journal.insert(number.to_be_bytes(), page.as_slice()).unwrap();
        assert!(!holds(&log(), &page), "it is in sled's buffer");
        page
    };
    let first = leave(7);
    let before = log().len() as u64;
    let reading = database.reading.read();
    database.keep_runway(before).unwrap();
    assert!(holds(&log(), &first), "it is waited for with readers about");
    drop(reading);

    let second = leave(8);
    let mut runway = Runway::default();
    database.extend(&mut runway, &database.reading.write(), database.turn()).unwrap();
    assert!(holds(&log(), &second));
    assert!(log().len() as u64 > before + SEGMENT_LEN);
    assert!(database.page(8).unwrap().is_some_and(|page| page == second));
}

/// A group that waits for its turn, behind another store's disk perhaps, keeps nobody from reading.
#[test]
fn whoever_reads_goes_on_while_a_group_waits_for_its_turn() {
    let (_folder, _generation, database) = database();
    let turn = database.turn();
    thread::scope(|scope| {
        let extended = scope.spawn(|| database.keep_runway(0));
        while !database.runway.is_locked() {
            assert!(!extended.is_finished(), "there is room for zeros, and it waits");
        }
        for _ in 0..1_000 {
            assert!(database.reading.try_read().is_some());
            thread::yield_now();
        }
        drop(turn);
        extended.join().unwrap().unwrap();
    });
}
