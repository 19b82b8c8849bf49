//! A list that only grows, in chunks that never move: no pause when it is long, no room allocated in advance.

const CHUNK_LEN: usize = 1024;

/// A growing list.
#[derive(Debug)]
pub(super) struct Chunked<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T> Chunked<T> {
    /// How many elements it has.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds one behind the others and says where it is.
    pub(super) fn push(&mut self, value: T) -> usize {
        let at = self.len;
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK_LEN => chunk.push(value),
            _ => {
                // The first chunk grows with its content; a small store stays small.
                let room = if self.chunks.is_empty() { 0 } else { CHUNK_LEN };
                let mut chunk = Vec::with_capacity(room);
                chunk.push(value);
                self.chunks.push(chunk);
            }
        }
        self.len = at.saturating_add(1);
        at
    }

    /// The element at a place.
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK_LEN)?.get(at % CHUNK_LEN)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.chunks.get_mut(at / CHUNK_LEN)?.get_mut(at % CHUNK_LEN)
    }

    /// How many elements from the start satisfy `pred`, which none does behind the first that does not.
    pub(super) fn partition_point(&self, mut pred: impl FnMut(&T) -> bool) -> usize {
        let chunks = self.chunks.partition_point(|chunk| chunk.first().is_some_and(&mut pred));
        let Some(last) = chunks.checked_sub(1) else { return 0 };
        let within = self.chunks.get(last).map_or(0, |chunk| chunk.partition_point(&mut pred));
        last.saturating_mul(CHUNK_LEN).saturating_add(within)
    }

    /// Bytes of memory it takes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let elements = self.chunks.iter().fold(0, |sum: usize, chunk| sum.saturating_add(chunk.capacity()));
        let lists = self.chunks.capacity().saturating_mul(size_of::<Vec<T>>());
        elements.saturating_mul(size_of::<T>()).saturating_add(lists) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_point_agrees_with_a_plain_list() {
        for len in [0_usize, 1, CHUNK_LEN - 1, CHUNK_LEN, CHUNK_LEN + 1, 3 * CHUNK_LEN] {
            let mut list = Chunked::default();
            let plain: Vec<usize> = (0..len).map(|i| i * 2).collect();
            for value in &plain {
                list.push(*value);
            }
            assert_eq!(list.len(), len);
            for probe in [0, 1, 2, CHUNK_LEN, 2 * CHUNK_LEN - 1, 2 * CHUNK_LEN, 7 * CHUNK_LEN] {
                assert_eq!(
                    list.partition_point(|v| *v <= probe),
                    plain.partition_point(|v| *v <= probe),
                    "len={len} probe={probe}"
                );
            }
            assert_eq!(list.get(len), None);
        }
    }

    #[test]
    fn each_element_is_where_it_was_put_and_can_be_changed_there() {
        let mut list = Chunked::default();
        for value in 0..3 * CHUNK_LEN {
            assert_eq!(list.push(value), value);
        }
        for at in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, CHUNK_LEN + 1, 3 * CHUNK_LEN - 1] {
            assert_eq!(list.get(at), Some(&at));
            *list.get_mut(at).unwrap() += 7;
            assert_eq!(list.get(at), Some(&(at + 7)));
        }
        assert_eq!(list.get(3 * CHUNK_LEN), None);
        assert_eq!(list.get_mut(3 * CHUNK_LEN), None);
        let changed = (0..3 * CHUNK_LEN).filter(|at| list.get(*at) != Some(at)).count();
        assert_eq!(changed, 6);
    }

    #[test]
    fn a_short_list_takes_little_room_and_a_long_one_hardly_more_than_its_elements() {
        let mut list = Chunked::default();
        list.push(0_u64);
        assert!((8..200).contains(&list.memory_bytes()), "{}", list.memory_bytes());
        for value in 1..10 * CHUNK_LEN as u64 {
            list.push(value);
        }
        let elements = 80 * CHUNK_LEN as u64;
        assert!((elements..elements + 600).contains(&list.memory_bytes()), "{}", list.memory_bytes());
    }
}
