//! Running what may panic, and whose panic goes no further: somebody else's code, or the engine's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What comes of it; or what it said when it panicked.
///
/// Not even what it panicked with does harm: that may be anything, and panic once more when it is dropped.
pub(crate) fn contain<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|payload| {
        let text = text_of(&*payload).unwrap_or("it panicked").to_owned();
        if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            // That one may do the same, and so on: a few bytes are lost rather than asked.
            std::mem::forget(next);
        }
        text
    })
}

fn text_of(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;
    use std::sync::Arc;

    use super::*;

    /// Panics when it is dropped, with the next one.
    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if let Some(next) = self.0.checked_sub(1) {
                panic_any(Bomb(next));
            }
        }
    }

    #[test]
    fn what_comes_of_it_comes_out_and_a_panic_says_what_it_said() {
        assert_eq!(contain(|| 5), Ok(5));
        assert_eq!(contain(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
        assert_eq!(contain(|| panic!("made of {}", 2)), Err::<(), _>("made of 2".to_owned()));
        assert_eq!(contain(|| panic_any(7)), Err::<(), _>("it panicked".to_owned()));
    }

    #[test]
    fn what_it_panicked_with_is_dropped_and_may_panic_however_often() {
        for bombs in [1, 2, 5] {
            assert_eq!(contain(|| panic_any(Bomb(bombs))), Err::<(), _>("it panicked".to_owned()));
        }
        let held = Arc::new(());
        let payload = Arc::clone(&held);
        assert_eq!(contain(move || panic_any(payload)), Err::<(), _>("it panicked".to_owned()));
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
