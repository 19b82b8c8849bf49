//! Writes the seeds anew: `cargo run --manifest-path fuzz/Cargo.toml --example make_seeds`.
//!
//! For `page_decode` they are pages of a small store; for `histories` a few handfuls of bytes that reach far.

use std::error::Error;
use std::fs;
use std::path::Path;

use pointstore::testing::SimDisk;
use pointstore::{AccountId, Command, ManualClock, Memo, PointStore, Points, Timestamp};

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (number, page) in pages()? {
        let body = page.split_last_chunk::<4>().ok_or("a page ends with its checksum")?.0;
        write(
            &seeds.join("page_decode"),
            &format!("page-{number}"),
            &[&number.to_be_bytes(), body].concat(),
        )?;
    }
    for (name, bytes) in histories() {
        write(&seeds.join("histories"), name, &bytes)?;
    }
    Ok(())
}

/// The number of a page's first entry, and the page.
type NumberedPage = (u64, Vec<u8>);

/// Pages of one entry and of many, of one group and of several, with and without memos and tenants.
fn pages() -> Result<Vec<NumberedPage>, Box<dyn Error>> {
    let disk = SimDisk::new(1);
    let clock = ManualClock::at(Timestamp::from_unix_millis(1_700_000_000_000));
    let store = PointStore::builder().clock(clock).open_simulated(&disk)?;
    let grant = |account: AccountId, key: String, points| -> Result<Command, Box<dyn Error>> {
        Ok(Command::grant(account, key.parse()?, Points::new(points)?))
    };
    let (plain, tenant) = (AccountId::new("a")?, AccountId::in_tenant("tenant", "ä & €")?);
    store.apply(&grant(plain.clone(), "k".into(), 1)?)?;
    store.apply(&grant(tenant.clone(), "k".into(), i64::MAX)?.with_memo(Memo::new("M".repeat(128))?))?;
    store.apply_atomic(&[
        Command::redeem(tenant.clone(), "list".parse()?, Points::new(300)?),
        grant(plain.clone(), "list".into(), 300)?,
    ])?;
    let many: Result<Vec<Command>, _> =
        (0..150).map(|n| grant(plain.clone(), format!("key-{n}"), 70_000)).collect();
    store.apply_each(&many?);
    store.apply(&grant(AccountId::new("N".repeat(128))?, "K".repeat(255), 5_000_000_000)?)?;
    Ok(disk.durable_pages().into_iter().collect())
}

/// The first byte is the disk's seed, the second the limits; see `fuzz_targets/history` for the rest.
fn histories() -> Vec<(&'static str, Vec<u8>)> {
    let grant = |account: u8, key: u8, points: u8| [0, account, 0, key, points];
    let grants = |count: u8| (2..count + 2).flat_map(|n| grant(n % 3, n, n)).collect::<Vec<u8>>();
    vec![
        ("grants", [&[1, 0][..], &grants(20), &[14, 1, 9, 0, 0, 9, 3, 2, 13, 0, 5]].concat()),
        (
            "lists",
            vec![
                1, 1, 0, 0, 0, 2, 210, 7, 2, 0, 1, 3, 5, 1, 0, 3, 5, 9, 0, 0, 9, 0, 6, 9, 0, 7, 14, 0, 9, 1,
                0,
            ],
        ),
        ("sync-fails", [&[1, 1][..], &grants(3), &[15, 1, 2], &grants(4), &[16, 1, 1], &grants(5)].concat()),
        (
            "power-cuts",
            [&[2, 1][..], &grants(4), &[17, 5, 2], &grants(6), &[17, 1, 1, 14, 1], &grants(3)].concat(),
        ),
        ("panic", [&[3, 0][..], &grants(2), &[15, 0, 1], &grants(3), &[14, 0, 15, 3, 1, 16, 0]].concat()),
        (
            "full-and-unreadable",
            [&[0, 1][..], &grants(5), &[18, 1], &grants(2), &[18, 0, 19, 1, 9, 2, 0, 19, 0]].concat(),
        ),
        (
            "long-texts",
            vec![0, 1, 6, 5, 0, 2, 0, 5, 1, 2, 0, 6, 2, 2, 0, 7, 3, 2, 1, 8, 0, 2, 2, 9, 14, 1, 13, 0, 5],
        ),
    ]
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    Ok(fs::write(folder.join(name), bytes)?)
}
