//! Rows that several looks at a board share.

use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Rows of a board. A copy shares them until it is changed: a command that looks asks four watchers about the same hundreds of rows.
#[derive(Clone, PartialEq)]
pub struct Shared<T>(Arc<Vec<T>>);

impl<T> Shared<T> {
    /// Those rows for which it holds. Nothing is copied where that is all of them.
    #[must_use]
    pub fn filtered(&self, holds: impl Fn(&T) -> bool) -> Shared<T>
    where
        T: Clone,
    {
        match self.iter().all(&holds) {
            true => self.clone(),
            false => self.iter().filter(|row| holds(row)).cloned().collect::<Vec<_>>().into(),
        }
    }
}

impl<T: Debug> Debug for Shared<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared(Arc::default())
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(rows: Vec<T>) -> Shared<T> {
        Shared(Arc::new(rows))
    }
}

/// Copies them where others share them.
impl<T: Clone> From<Shared<T>> for Vec<T> {
    fn from(rows: Shared<T>) -> Vec<T> {
        Arc::unwrap_or_clone(rows.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

/// Copies them first where others share them.
impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let rows: &mut Vec<T> = Arc::make_mut(&mut self.0);
        rows
    }
}

impl<T: Clone> IntoIterator for Shared<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(self).into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shares_the_rows_and_is_changed_alone() {
        let first = Shared::from(vec![3, 1, 2]);
        let mut second = first.clone();
        assert!(std::ptr::eq(&first[0], &second[0]));
        second.sort_unstable();
        assert_eq!((&*first, &*second), (&[3, 1, 2][..], &[1, 2, 3][..]));
        assert_eq!(first.clone().into_iter().collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(Vec::from(first), [3, 1, 2]);
    }

    #[test]
    fn a_part_is_copied_and_the_whole_is_not() {
        let all = Shared::from(vec![1, 2, 3]);
        assert!(std::ptr::eq(&all[0], &all.filtered(|n| *n > 0)[0]));
        assert_eq!(*all.filtered(|n| n % 2 == 1), [1, 3]);
        assert!(all.filtered(|_| false).is_empty() && Shared::<u8>::default().is_empty());
    }
}
