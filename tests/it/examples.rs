//! The examples do what the README and their own words say: they are compiled in here and run.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command as Program;

#[path = "../../examples/quickstart.rs"]
#[allow(dead_code, reason = "its `main` is not called here")]
mod quickstart;

#[path = "../../examples/lost_acknowledgement.rs"]
#[allow(dead_code, reason = "its `main` is not called here")]
mod lost_acknowledgement;

#[path = "../../examples/purchases/main.rs"]
#[allow(dead_code, reason = "its `main` is not called here")]
mod purchases;

const HEADER: &str = "order_id,customer_id,date,items,dollars";

/// What the purchases example prints for some arguments, with its speeds left out.
fn purchases(args: &[&str]) -> Result<String, String> {
    let mut out = Vec::new();
    let args = args.iter().map(OsString::from);
    let ran: Result<(), Box<dyn Error>> = purchases::run(args, &mut out);
    ran.map_err(|error| error.to_string())?;
    let out = String::from_utf8(out).unwrap();
    let without_speed = |line: &str| match line.rsplit_once(", ") {
        Some((rest, speed)) if speed.ends_with(" grants per second") => rest.to_owned(),
        _ => line.to_owned(),
    };
    Ok(out.lines().map(without_speed).collect::<Vec<_>>().join("\n"))
}

/// The same for a file that holds these lines.
fn purchases_of(lines: &[u8], further: &[&str]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("purchases.csv");
    fs::write(&file, lines).unwrap();
    purchases(&[&[file.to_str().unwrap()], further].concat())
        .map_err(|error| error.replace(folder.path().to_str().unwrap(), "FOLDER"))
}

/// What the README shows between the marks of an example.
fn shown(example: &str) -> String {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let (_, shown) = readme.split_once(&format!("<!-- {example} -->\n```text\n")).unwrap();
    let (shown, _) = shown.split_once(&format!("```\n<!-- /{example} -->")).unwrap();
    shown.to_owned()
}

#[test]
fn the_readme_shows_what_the_quickstart_prints() {
    let mut printed = Vec::new();
    quickstart::run(&mut printed).unwrap();
    assert_eq!(shown("quickstart"), String::from_utf8(printed).unwrap());
}

// C01, I7. The process that the example has die is this test, started again.
#[test]
fn the_readme_shows_what_the_lost_acknowledgement_prints() {
    const FOLDER: &str = "POINTSTORE_LOST_ACKNOWLEDGEMENT";
    if let Some(folder) = env::var_os(FOLDER) {
        lost_acknowledgement::grant_and_die(Path::new(&folder)).unwrap();
        return;
    }
    let child = |folder: &Path| {
        let mut child = Program::new(env::current_exe().unwrap());
        let test = "examples::the_readme_shows_what_the_lost_acknowledgement_prints";
        child.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(FOLDER, folder);
        child
    };
    let mut printed = Vec::new();
    lost_acknowledgement::run(&mut printed, child).unwrap();
    assert_eq!(shown("lost-acknowledgement"), String::from_utf8(printed).unwrap());
}

// Were the other process to live, or to do nothing, the story would not be the one that is told.
#[test]
fn the_lost_acknowledgement_fails_where_the_other_process_does_not_die_in_between() {
    let mut out = Vec::new();
    let idle = |_: &Path| {
        let mut child = Program::new(env::current_exe().unwrap());
        child.args(["no test has this name", "--exact"]);
        child
    };
    let error = lost_acknowledgement::run(&mut out, idle).unwrap_err();
    assert_eq!(error.to_string(), "it does not hold that the other process crashed");
}

// C01, C05, C15: the sample has a purchase that was told twice, one that was told otherwise the second time,
// and customers who bought twice on a day for the same amount.
#[test]
fn the_sample_is_granted_once_however_often_it_is_sent() {
    insta::assert_snapshot!(purchases(&[]).unwrap(), @r"
    284 purchases to grant for, 12 lines refused
           6 refused, earns no points: lines 25, 63, 99, 158, 178 and 1 more
           1 refused, date is not a year, month and day: line 79
           2 refused, dollars is not an amount: lines 123, 170
           1 refused, has 4 fields instead of 5: line 37
           1 refused, items is not a whole number: line 244
           1 refused, order_id: invalid key: empty, at least one byte is needed max_len=255: line 205
    first pass: 282 applied, 1 replayed, 1 refused
           1 refused, key was already used for another request differs=points saved=4 given=1: line 157
    second pass: 0 applied, 283 replayed, 1 refused
           1 refused, key was already used for another request differs=points saved=4 given=1: line 157
    opened again and verified: receipts=282 customers=55 points=12885
    largest balances:
               873  c006
               715  c005
               595  c018
               572  c014
               519  c011
               518  c012
               495  c027
               474  c004
               409  c007
               396  c008
    ");
}

#[test]
fn neither_threads_nor_batches_change_what_is_granted() {
    let usual = purchases(&[]).unwrap();
    for (threads, batch) in [("1", "1"), ("3", "7"), ("64", "65536")] {
        assert_eq!(purchases(&["--threads", threads, "--batch", batch]).unwrap(), usual);
    }
}

#[test]
fn a_store_that_stays_grants_nothing_when_the_program_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let first = purchases(&["--store", store.to_str().unwrap()]).unwrap();
    let again = purchases(&["--store", store.to_str().unwrap()]).unwrap();
    assert!(first.contains("first pass: 282 applied, 1 replayed, 1 refused"), "{first}");
    assert!(again.contains("first pass: 0 applied, 283 replayed, 1 refused"), "{again}");
    assert!(Path::new(&store).join("FORMAT").exists());
}

#[test]
fn a_line_that_is_no_purchase_is_named_and_the_others_are_granted() {
    let lines = [
        HEADER.as_bytes(),
        b"o-1,c-1,2024-01-02,1,3.99",
        b"",
        b"o-2,\"c-1,2024-01-02,1,5.00",
        b"o-3,\"c-1\",2024-01-02,1,\"7.00\"",
        b"o-4,c-\xff,2024-01-02,1,5.00",
        b"o-5,c-1\rx,2024-01-02,1,5.00",
        b"o-6,c-1,2024-13-02,1,5.00",
        b"o-7,c-1,2024-01-02,1,5.00,",
        b"o-8,c-1,2024-01-02,1,99999999999999999999.00",
        b"o-9,c-1,2024-01-02,1,1e3",
        b"o-10,c-1,2024-01-02,1,5.",
        b"o-11,c-1,2024-01-02,1,11",
    ];
    insta::assert_snapshot!(purchases_of(&lines.join(&b'\n'), &[]).unwrap(), @r"
    3 purchases to grant for, 8 lines refused
           1 refused, customer_id is not UTF-8: line 6
           1 refused, customer_id: invalid account: control characters are not allowed at_byte=3: line 7
           1 refused, date is not a year, month and day: line 8
           2 refused, dollars is not an amount: lines 11, 12
           1 refused, dollars: invalid points: out of range given=99999999999999999999 min=1 max=9223372036854775807: line 10
           1 refused, has 6 fields instead of 5: line 9
           1 refused, has a quote that is not closed: line 4
    first pass: 3 applied, 0 replayed, 0 refused
    second pass: 0 applied, 3 replayed, 0 refused
    opened again and verified: receipts=3 customers=1 points=21
    largest balances:
                21  c-1
    ");
}

#[test]
fn the_ends_of_lines_may_be_those_of_another_system() {
    let lines = [HEADER, "o-1,c-1,2024-01-02,1,3.99", "o-2,c-1,2024-01-02,1,0.99", ""];
    let unix = purchases_of(lines.join("\n").as_bytes(), &[]).unwrap();
    assert!(unix.contains("1 refused, earns no points: line 3"), "{unix}");
    assert_eq!(purchases_of(lines.join("\r\n").as_bytes(), &[]).unwrap(), unix);
}

#[test]
fn a_balance_without_room_is_a_refusal_with_its_line() {
    let max = i64::MAX;
    let lines = format!("{HEADER}\no-1,c-1,2024-01-02,1,{max}.99\no-2,c-1,2024-01-02,1,1.00\n");
    let told = purchases_of(lines.as_bytes(), &[]).unwrap();
    assert!(told.contains("first pass: 1 applied, 0 replayed, 1 refused"), "{told}");
    assert!(told.contains(&format!("balance={max} requested=1 max={max}: line 3")), "{told}");
}

#[test]
fn a_file_that_is_not_there_or_of_another_form_is_refused_before_a_store_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let store_text = store.to_str().unwrap();
    let missing = purchases(&["no-such-file.csv", "--store", store_text]).unwrap_err();
    assert!(missing.starts_with("cannot open no-such-file.csv: "), "{missing}");
    for wrong in ["", "\n", "customer,points\nc-1,5\n"] {
        let error = purchases_of(wrong.as_bytes(), &["--store", store_text]).unwrap_err();
        assert_eq!(error, format!("FOLDER/purchases.csv does not begin with the line {HEADER}"));
    }
    assert!(!store.exists());
}

#[test]
fn arguments_that_make_no_sense_are_answered_with_the_reason_and_the_usage() {
    for (args, reason) in [
        (&["--fast"][..], "unknown option --fast"),
        (&["a.csv", "b.csv"], "more than one file is given"),
        (&["--threads"], "--threads needs a value"),
        (&["--threads", "0"], "--threads takes a whole number from 1 to 256"),
        (&["--batch", "many"], "--batch takes a whole number from 1 to 65536"),
    ] {
        let error = purchases(args).unwrap_err();
        assert!(error.starts_with(&format!("{reason}\n\nusage: purchases ")), "{error}");
    }
    assert!(purchases(&["--help"]).unwrap().starts_with("usage: purchases "));
}
