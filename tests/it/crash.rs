//! Killed at any moment: nothing acknowledged is lost, nothing is doubled, every opening succeeds (I1, I2, I7, C12).
//!
//! A test starts its own program again as a child, which opens a store, writes with many threads and says on a
//! pipe what was acknowledged. The parent kills it, opens what is left, and judges. `POINTSTORE_KILLS` says how
//! often, `POINTSTORE_SEED` with which luck; what happened is printed.

mod child;
mod parent;

use pointstore::{AccountId, Command, IdempotencyKey, Points};

/// Threads of a child.
const THREADS: u64 = 8;

/// What the n-th request of a thread in some run asks for: singles, batches and atomic lists in turn.
#[derive(Debug)]
enum Request {
    Each(Vec<Command>),
    Atomic(Vec<Command>),
}

/// The same for parent and child, so that only the place in the work has to go over the pipe.
fn request(run: u64, thread: u64, step: u64) -> Request {
    let key = |item: u64| IdempotencyKey::new(format!("r{run}-t{thread}-s{step}-i{item}")).unwrap();
    let own = AccountId::in_tenant("crash", format!("own-{thread}")).unwrap();
    let shared = |n: u64| AccountId::new(format!("shared-{n}")).unwrap();
    let points = |n: u64| Points::new(1 + n as i64).unwrap();
    match step % 5 {
        0 => Request::Each(vec![Command::grant(own, key(0), points(10))]),
        1 => Request::Each(vec![Command::grant(shared(0), key(0), points(step))]),
        2 => {
            let grant = |item| Command::grant(shared(item % 3), key(item), points(item));
            Request::Each((0..20).map(grant).collect())
        }
        // There always is enough: only this thread uses its account, and step 0 came before.
        3 => Request::Each(vec![Command::redeem(own, key(0), points(5))]),
        _ => Request::Atomic(vec![
            Command::redeem(own, key(0), points(0)),
            Command::grant(shared(1), key(1), points(0)),
            Command::grant(shared(2), key(2), points(7)),
        ]),
    }
}

impl Request {
    fn commands(&self) -> &[Command] {
        match self {
            Self::Each(commands) | Self::Atomic(commands) => commands,
        }
    }
}
