//! Where in the queue a worker looks for its next task.

/// How many places more there are to choose from after each lost task.
const WIDER: usize = 16;
/// Most places behind the head.
const WIDEST: usize = 256;

/// The place in the queue that a worker begins at: its head, unless `lost` tasks that it got ready for were taken by others before it could.
/// Then as many idle workers look at the head, and each chooses another place by chance. `digits`: eight hex digits by chance.
pub(super) fn place(lost: u32, digits: &str) -> usize {
    let width = WIDER.saturating_pow(lost).min(WIDEST);
    u32::from_str_radix(digits, 16).map_or(0, |n| n as usize) % width
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Digits as good as chance, the same in each run.
    fn digits(nth: usize) -> String {
        // As splitmix64 does.
        let nth = (nth as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (nth ^ nth >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        format!("{:08x}", (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32)
    }

    #[test]
    fn the_head_is_for_who_lost_nothing_and_the_more_was_lost_the_wider_it_is_looked() {
        for (lost, digits, want) in [
            (0, "00000000", 0),
            (0, "ffffffff", 0),
            (1, "00000000", 0),
            (1, "0000000f", 15),
            (1, "00000010", 0),
            (2, "00000010", 16),
            (2, "000000ff", 255),
            (2, "00000100", 0),
            (3, "000000ff", 255),
            (3, "00000100", 0),
            (u32::MAX, "fffffffe", 254),
            (1, "no digits", 0),
        ] {
            assert_eq!(place(lost, digits), want, "{lost} {digits}");
        }
        let reached: BTreeSet<usize> = (0..20_000).map(|nth| place(9, &digits(nth))).collect();
        assert_eq!(reached, (0..WIDEST).collect());
    }

    /// Workers that begin at the same moment: in each round each idle one gets ready for the task at its place, and of all that did so for
    /// one task one takes it.
    fn rounds(workers: usize, tasks: usize) -> (u32, usize) {
        let mut queue: Vec<usize> = (0..tasks).collect();
        let (mut idle, mut lost, mut got_ready) = (workers, 0, 0);
        while idle > 0 && !queue.is_empty() {
            let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
            for _ in 0..idle {
                got_ready += 1;
                let place = place(lost, &digits(got_ready));
                *taken.entry(if place < queue.len() { place } else { 0 }).or_default() += 1;
            }
            for place in taken.keys().rev() {
                queue.remove(*place);
            }
            (idle, lost) = (idle - taken.len(), lost + 1);
        }
        (lost, got_ready)
    }

    #[test]
    fn many_workers_that_begin_at_once_soon_have_a_task_each() {
        // A worker that always looked at the head would get ready for as many tasks as there are workers before it.
        for (workers, most_rounds, most_got_ready) in
            [(1, 1, 1), (2, 2, 3), (16, 3, 40), (50, 4, 150), (400, 8, 1_700)]
        {
            let (rounds, got_ready) = rounds(workers, 5_000);
            assert!(
                rounds <= most_rounds && got_ready <= most_got_ready,
                "{workers} workers: {rounds} rounds, got ready {got_ready} times"
            );
        }
    }
}
