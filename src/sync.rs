//! The locks of the commit layer and of the simulated engine: parking_lot's, or shuttle's where schedules are tried out.
//!
//! With `--cfg pointstore_shuttle` the crate's own tests decide which thread goes next at every lock; see
//! `commit/schedules.rs`. No feature shows it, and nothing else is built with it.

#[cfg(not(all(test, pointstore_shuttle)))]
pub(crate) use self::real::{AtomicBool, Condvar, Gate, Mutex, MutexGuard, RwLock, RwLockReadGuard};
#[cfg(all(test, pointstore_shuttle))]
pub(crate) use self::scheduled::{AtomicBool, Condvar, Gate, Mutex, MutexGuard, RwLock, RwLockReadGuard};

#[cfg(not(all(test, pointstore_shuttle)))]
mod real {
    use std::sync::PoisonError;
    use std::time::Duration;

    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
    pub(crate) use std::sync::atomic::AtomicBool;

    /// Where threads wait that are woken together.
    ///
    /// Its condition variable is std's: on Linux that wakes all with one system call, where parking_lot's makes one
    /// for each.
    #[derive(Debug, Default)]
    pub(crate) struct Gate {
        waiting: std::sync::Mutex<usize>,
        woken: std::sync::Condvar,
    }

    impl Gate {
        /// Waits until there is something to see, for `limit` at most. It is looked for with the gate held: whoever
        /// changes what is seen, and wakes then, is not missed. To look must not panic.
        pub(crate) fn wait_for<T>(&self, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
            let mut seen = None;
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            *waiting = waiting.saturating_add(1);
            let waited = self.woken.wait_timeout_while(waiting, limit, |_| {
                seen = look();
                seen.is_none()
            });
            let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
            *waiting = waiting.saturating_sub(1);
            seen
        }

        /// Wakes all who wait.
        pub(crate) fn wake_all(&self) {
            if self.waiting() > 0 {
                self.woken.notify_all();
            }
        }

        /// How many wait, or are woken and not on their way yet. The gate is held from when one is counted until it waits.
        pub(super) fn waiting(&self) -> usize {
            *self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

#[cfg(all(test, not(pointstore_shuttle)))]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Whoever is not woken is missed.
    const LONG: Duration = Duration::from_secs(24 * 3600);

    #[test]
    fn everybody_at_a_gate_is_woken_at_once_and_who_has_nothing_to_see_waits_on() {
        let (gate, here, there) = (Gate::default(), AtomicBool::new(false), AtomicBool::new(false));
        let wait = |seen: &AtomicBool| gate.wait_for(LONG, || seen.load(Ordering::SeqCst).then_some(()));
        thread::scope(|scope| {
            let woken: Vec<_> = (0..8).map(|_| scope.spawn(|| wait(&here))).collect();
            let other = scope.spawn(|| wait(&there));
            gate.until_waiting(9);
            here.store(true, Ordering::SeqCst);
            gate.wake_all();
            woken.into_iter().for_each(|woken| assert_eq!(woken.join().unwrap(), Some(())));
            gate.until_waiting(1);
            assert!(!other.is_finished());
            there.store(true, Ordering::SeqCst);
            gate.wake_all();
            assert_eq!(other.join().unwrap(), Some(()));
        });
        gate.until_waiting(0);
    }

    #[test]
    fn nobody_waits_at_a_gate_for_longer_than_the_limit_or_for_what_is_there() {
        let gate = Gate::default();
        assert_eq!(gate.wait_for(Duration::from_millis(5), || None::<()>), None);
        assert_eq!(gate.wait_for(LONG, || Some(7)), Some(7));
        gate.until_waiting(0);
    }

    impl Gate {
        /// Until so many wait.
        fn until_waiting(&self, threads: usize) {
            while self.waiting() != threads {
                thread::yield_now();
            }
        }
    }
}

/// Shuttle's locks in the shape of parking_lot's: no lock is poisoned by a panic, and waiting borrows the guard.
#[cfg(test)]
#[cfg(pointstore_shuttle)]
mod scheduled {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;
    use std::time::Duration;

    use shuttle::rand::Rng;
    use shuttle::sync as shuttled;

    pub(crate) use shuttle::sync::RwLockReadGuard;
    pub(crate) use shuttle::sync::atomic::AtomicBool;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttled::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttled::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard { mutex: self, held: Some(self.hold()) }
        }

        fn hold(&self) -> shuttled::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T> {
        mutex: &'a Mutex<T>,
        /// None only while it waits.
        held: Option<shuttled::MutexGuard<'a, T>>,
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.held.as_ref().expect("it is held")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.held.as_mut().expect("it is held")
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(shuttled::Condvar);

    impl Condvar {
        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        /// There is no time in a schedule: a limit of zero may be over at any moment, and any other never is, but for
        /// one of less than a millisecond: such a wait ends by itself after a while, one way or the other.
        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> Waited {
            let mut rng = shuttle::rand::thread_rng();
            let moment = !limit.is_zero() && limit < Duration::from_millis(1);
            let over = if moment { rng.gen_ratio(1, 2) } else { limit.is_zero() && rng.gen_ratio(1, 3) };
            let held = guard.held.take().expect("it is held");
            guard.held = Some(if over || moment {
                drop(held);
                for _ in 0..rng.gen_range(1..4) {
                    shuttle::thread::yield_now();
                }
                guard.mutex.hold()
            } else {
                self.0.wait(held).unwrap_or_else(PoisonError::into_inner)
            });
            Waited { over }
        }
    }

    /// How a wait ended.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Waited {
        over: bool,
    }

    impl Waited {
        pub(crate) fn timed_out(self) -> bool {
            self.over
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Gate {
        waiting: Mutex<usize>,
        woken: Condvar,
    }

    impl Gate {
        pub(crate) fn wait_for<T>(&self, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
            let mut waiting = self.waiting.lock();
            *waiting += 1;
            let mut over = false;
            let seen = loop {
                let seen = look();
                if over || seen.is_some() {
                    break seen;
                }
                over = self.woken.wait_for(&mut waiting, limit).timed_out();
            };
            *waiting -= 1;
            seen
        }

        pub(crate) fn wake_all(&self) {
            let waiting = *self.waiting.lock();
            if waiting > 0 {
                self.woken.notify_all();
            }
        }
    }

    #[derive(Debug)]
    pub(crate) struct RwLock<T>(shuttled::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttled::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn write(&self) -> shuttled::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
