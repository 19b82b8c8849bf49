//! PostgreSQL on a Unix socket: a private cluster with Debian's settings, fsync and synchronous_commit on.
//!
//! A grant is one prepared statement, so one round trip: it adds to the balance and inserts the receipt. The
//! receipt's primary key refuses a key that is known, which takes the whole statement back; the caller then reads
//! what was saved. A batch is the same statement over arrays.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls, Row, Statement};
use tempfile::TempDir;

use super::{Answer, Balances, Peer, Saved, now_ms};
use crate::Result;
use crate::figures::memory_field;
use crate::work::Grant;

const START_LIMIT: Duration = Duration::from_secs(30);

/// The kernel counts a process's time for others to read in these.
const TICK: Duration = Duration::from_millis(10);

const TABLES: &str = "
    CREATE TABLE balances (account text PRIMARY KEY, points bigint NOT NULL);
    CREATE TABLE receipts (
        account text NOT NULL, key text NOT NULL, points bigint NOT NULL, balance_after bigint NOT NULL,
        recorded_at_ms bigint NOT NULL, PRIMARY KEY (account, key)
    );";

const GRANT: &str = "
    WITH changed AS (
        INSERT INTO balances AS b (account, points) VALUES ($1::text, $3::bigint)
        ON CONFLICT (account) DO UPDATE SET points = b.points + excluded.points RETURNING points
    )
    INSERT INTO receipts (account, key, points, balance_after, recorded_at_ms)
    SELECT $1::text, $2::text, $3::bigint, changed.points, $4::bigint FROM changed RETURNING balance_after";

const BATCH: &str = "
    WITH asked AS (
        SELECT account, key, points, place,
            sum(points) OVER (PARTITION BY account) AS total,
            sum(points) OVER (PARTITION BY account ORDER BY place) AS so_far
        FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS a (account, key, points, place)
    ), changed AS (
        INSERT INTO balances AS b (account, points)
        SELECT account, sum(points)::bigint FROM asked GROUP BY account ORDER BY account
        ON CONFLICT (account) DO UPDATE SET points = b.points + excluded.points
        RETURNING account, points AS balance
    )
    INSERT INTO receipts (account, key, points, balance_after, recorded_at_ms)
    SELECT account, key, points, (balance - total + so_far)::bigint, $4::bigint
    FROM asked JOIN changed USING (account) ORDER BY place RETURNING balance_after";

const SAVED: &str =
    "SELECT points, balance_after, recorded_at_ms FROM receipts WHERE account = $1 AND key = $2";

/// The folder of the programs of the newest server that is installed, if there is any.
pub(crate) fn installed() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.filter(|path| path.join("bin/initdb").exists()).max_by_key(number)?;
    Some(newest.join("bin"))
}

/// Where the tables of a cluster in a folder lie, without its log.
pub(super) fn data(folder: &Path) -> PathBuf {
    folder.join("cluster/base")
}

/// One connection for each caller.
pub(super) struct Postgres {
    sessions: Vec<Mutex<Session>>,
    server: Server,
}

struct Session {
    client: Client,
    grant: Statement,
    batch: Statement,
    saved: Statement,
}

impl Postgres {
    pub(super) fn open(folder: &Path, callers: usize) -> Result<Self> {
        let server = Server::start(folder)?;
        server.connect_when_ready()?.batch_execute(TABLES)?;
        let sessions = (0..callers).map(|_| Ok(Mutex::new(Session::new(server.connect()?)?)));
        Ok(Self { sessions: sessions.collect::<Result<_>>()?, server })
    }

    fn with<T>(&self, caller: usize, act: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let session = self.sessions.get(caller).ok_or("a caller without a connection")?;
        act(&mut session.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    fn new(mut client: Client) -> Result<Self> {
        for setting in ["fsync", "synchronous_commit"] {
            let value: String = client.query_one(&format!("SHOW {setting}"), &[])?.try_get(0)?;
            if value != "on" {
                return Err(format!("a setting was not taken, {setting}={value}").into());
            }
        }
        let (grant, batch, saved) = (client.prepare(GRANT)?, client.prepare(BATCH)?, client.prepare(SAVED)?);
        Ok(Self { client, grant, batch, saved })
    }

    fn apply(&mut self, grant: &Grant) -> Result<Answer> {
        let (points, now) = (i64::try_from(grant.points)?, i64::try_from(now_ms()?)?);
        match self.client.query_one(&self.grant, &[&grant.account, &grant.key, &points, &now]) {
            Ok(row) => Ok(Answer::Applied(unsigned(&row, 0)?)),
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                let row = self.client.query_one(&self.saved, &[&grant.account, &grant.key])?;
                let (points, balance_after) = (unsigned(&row, 0)?, unsigned(&row, 1)?);
                Ok(Saved { points, balance_after, recorded_at_ms: unsigned(&row, 2)? }.replay(grant))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn apply_all(&mut self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let accounts: Vec<&str> = grants.iter().map(|grant| grant.account.as_str()).collect();
        let keys: Vec<&str> = grants.iter().map(|grant| grant.key.as_str()).collect();
        let points: Vec<i64> =
            grants.iter().map(|grant| i64::try_from(grant.points)).collect::<Result<_, _>>()?;
        let now = i64::try_from(now_ms()?)?;
        match self.client.query(&self.batch, &[&accounts, &keys, &points, &now]) {
            Ok(rows) => rows.iter().map(|row| Ok(Answer::Applied(unsigned(row, 0)?))).collect(),
            // One of them is known: nothing was done.
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                grants.iter().map(|grant| self.apply(grant)).collect()
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Peer for Postgres {
    fn grant(&self, caller: usize, grant: &Grant) -> Result<Answer> {
        self.with(caller, |session| session.apply(grant))
    }

    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        self.with(0, |session| session.apply_all(grants))
    }

    fn balances(&self) -> Result<Balances> {
        let rows =
            self.with(0, |session| Ok(session.client.query("SELECT account, points FROM balances", &[])?))?;
        rows.iter().map(|row| Ok((row.try_get(0)?, unsigned(row, 1)?))).collect()
    }

    fn server_cpu(&self) -> Result<Duration> {
        let processes = self.server.processes()?;
        Ok(TICK * u32::try_from(processes.iter().map(|process| process.ticks).sum::<u64>())?)
    }

    fn server_memory(&self) -> Result<u64> {
        let rollup = |process: &Process| fs::read_to_string(process.folder.join("smaps_rollup")).ok();
        let processes = self.server.processes()?;
        // What they share is counted once: each has its share of it. A process may end while it is looked at.
        processes.iter().filter_map(rollup).map(|text| memory_field(&text, "Pss")).sum()
    }
}

fn unsigned(row: &Row, at: usize) -> Result<u64> {
    Ok(u64::try_from(row.try_get::<_, i64>(at)?)?)
}

/// A running server; it ends with this.
struct Server {
    process: Child,
    /// A short path: that of a socket has a bound.
    socket: TempDir,
    log: PathBuf,
}

impl Server {
    /// Makes a cluster in a folder and starts a server on it, as the user `postgres` where this is root.
    fn start(folder: &Path) -> Result<Self> {
        let programs = installed().ok_or("postgresql is not installed")?;
        let socket = tempfile::Builder::new().prefix("pg-").tempdir()?;
        let user = server_user()?;
        for folder in [folder, socket.path()] {
            if let Some((user, group)) = user {
                chown(folder, Some(user), Some(group))?;
            }
        }
        let (cluster, log) = (folder.join("cluster"), folder.join("log"));
        let program = |name: &str, output: File| -> Result<Command> {
            let mut command = Command::new(programs.join(name));
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).current_dir(folder);
            if let Some((user, group)) = user {
                command.uid(user).gid(group);
            }
            Ok(command)
        };
        let output = File::create(&log)?;
        let made = program("initdb", output.try_clone()?)?
            .args(["--auth=trust", "--username=points", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&cluster)
            .status()?;
        if !made.success() {
            return Err(format!("initdb failed: {}", last_line(&log)).into());
        }
        let mut server = program("postgres", output)?;
        server.arg("-D").arg(&cluster).arg("-k").arg(socket.path());
        // The first two are what is promised. A log that is not checkpointed in between is to its advantage.
        for setting in ["fsync=on", "synchronous_commit=on", "listen_addresses=", "max_connections=300"] {
            server.args(["-c", setting]);
        }
        server.args(["-c", "max_wal_size=4GB"]);
        Ok(Self { process: server.spawn()?, socket, log })
    }

    fn connect(&self) -> Result<Client> {
        let mut config = Config::new();
        config.host_path(self.socket.path()).user("points").dbname("postgres");
        Ok(config.connect(NoTls)?)
    }

    fn connect_when_ready(&self) -> Result<Client> {
        let start = Instant::now();
        loop {
            match self.connect() {
                Ok(client) => return Ok(client),
                Err(error) if start.elapsed() > START_LIMIT => {
                    return Err(format!("the server did not start: {error}; {}", last_line(&self.log)).into());
                }
                Err(_) => sleep(Duration::from_millis(20)),
            }
        }
    }

    /// The server and all its processes.
    fn processes(&self) -> Result<Vec<Process>> {
        let main = u64::from(self.process.id());
        let of = |folder: PathBuf| {
            // A process may end while it is looked at.
            let stat = fs::read_to_string(folder.join("stat")).ok()?;
            let (id, rest) = stat.split_once(" (")?;
            let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split(' ').collect();
            let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
            let (is_main, is_child) = (id.parse() == Ok(main), field(1) == Some(main));
            // utime and stime; of the main process also those of children that ended.
            let of_ended = if is_main { field(13)? + field(14)? } else { 0 };
            let ticks = field(11)? + field(12)? + of_ended;
            (is_main || is_child).then_some(Process { folder, ticks })
        };
        Ok(fs::read_dir("/proc")?.filter_map(|entry| of(entry.ok()?.path())).collect())
    }
}

/// A process of the server.
struct Process {
    /// Its folder in /proc.
    folder: PathBuf,
    /// CPU time.
    ticks: u64,
}

impl Drop for Server {
    fn drop(&mut self) {
        // A fast shutdown, which waits for no client.
        let stopped = i32::try_from(self.process.id())
            .is_ok_and(|id| kill(Pid::from_raw(id), Signal::SIGINT).is_ok())
            && self.process.wait().is_ok();
        if !stopped {
            eprintln!("the server was not stopped, process={}", self.process.id());
        }
    }
}

/// Whom the server runs as where this is root, which it refuses.
fn server_user() -> Result<Option<(u32, u32)>> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.starts_with("postgres:")).ok_or("there is no user postgres")?;
    let mut ids = line.split(':').skip(2).map(str::parse);
    match (ids.next(), ids.next()) {
        (Some(Ok(user)), Some(Ok(group))) => Ok(Some((user, group))),
        _ => Err("the user postgres has no numbers".into()),
    }
}

fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or("nothing was logged").to_owned()
}
