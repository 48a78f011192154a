use proptest::prelude::*;

use super::super::Method;
use super::*;

fn path(path: &str, hash: &str, at: i64) -> PathState {
    PathState { path: path.into(), kind: Kind::File, hash: hash.into(), at }
}

/// A state with these paths, and a hash of its own.
fn state(hash: &str, paths: &[PathState], is_all: bool) -> TreeState {
    let mut paths = paths.to_vec();
    paths.sort_by(|a, b| a.key().cmp(&b.key()));
    TreeState {
        method: Method::Git,
        hash: format!("git:{hash}"),
        root: "/w/t".into(),
        asked: String::new(),
        below: String::new(),
        head: Some("3f2a91cdddddd".into()),
        branch: Some("main".into()),
        changed_count: paths.len(),
        untracked_count: 0,
        paths,
        is_all,
    }
}

fn own(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|p| (*p).to_owned()).collect()
}

fn changed(paths: &[&str], more: bool) -> Drift {
    Drift::Changed { moved: Vec::new(), paths: paths.iter().map(|p| (*p).to_owned()).collect(), more }
}

#[test]
fn what_cannot_be_compared() {
    let a = state("1", &[], true);
    let files = TreeState { method: Method::Files, hash: "files:1".into(), ..a.clone() };
    let none = TreeState { hash: String::new(), ..a.clone() };
    let empty = TreeState { hash: "empty".into(), ..a.clone() };
    let odd = TreeState { hash: "files:1".into(), ..a.clone() };
    let elsewhere = TreeState { root: "/w/u".into(), ..a.clone() };
    let below = TreeState { below: "src".into(), ..a.clone() };
    for (other, why) in [
        (files, "the tree was read by git before and by files now"),
        (none, "the tree's hash is of another method"),
        (empty, "the tree's hash is of another method"),
        (odd, "the tree's hash is of another method"),
        (elsewhere, "the tree is another folder now"),
        (below, "the tree is another folder now"),
    ] {
        assert_eq!(drift(&a, &other, &own(&[])), Drift::Unknown(why.into()));
        assert!(matches!(drift(&other, &a, &own(&[])), Drift::Unknown(_)));
    }
    // By which way it was asked for says nothing.
    let linked = TreeState { asked: "/link".into(), ..a.clone() };
    assert_eq!(drift(&a, &linked, &own(&[])), Drift::Same);
}

#[test]
fn whose_paths_they_are() {
    let before = state("1", &[path("kept", "0", 1), path("edited", "0", 1), path("back", "0", 1)], true);
    let after = state("2", &[path("kept", "0", 1), path("edited", "1", 2), path("src/new", "0", 2)], true);
    let after = TreeState { asked: "/home/w".into(), ..after };
    for (mine, want) in [
        (&["edited", "src/new", "back"][..], Drift::Own),
        (&["/w/t/edited", "/w/t/src/../src//new", "/w/t/./back"], Drift::Own),
        (&["/home/w/edited", "/home/w/src/new", "/home/w/back"], Drift::Own),
        (&["edited", "src/new"], changed(&["back"], false)),
        (&["/w/t", "/w", "/", "", ".", "src", "/w/tedited"], changed(&["back", "edited", "src/new"], false)),
        (
            &["../edited", "/w/t/../edited", "/w/u/edited", "../../../../edited"],
            changed(&["back", "edited", "src/new"], false),
        ),
        (&["kept"], changed(&["back", "edited", "src/new"], false)),
    ] {
        assert_eq!(drift(&before, &after, &own(mine)), want, "{mine:?}");
    }
}

#[test]
fn lists_that_are_not_all() {
    let (old, older) = (path("old", "0", 100), path("older", "0", 90));
    let before = state("1", &[old.clone(), older.clone()], false);
    for (what, after, want) in [
        ("newer than all that was kept", vec![path("new", "0", 110), old.clone()], changed(&["new"], true)),
        ("changed", vec![path("old", "1", 120), older.clone()], changed(&["old"], true)),
        (
            "pushed out by others",
            vec![path("x", "0", 100), path("y", "0", 100)],
            changed(&["old", "x", "y"], true),
        ),
        (
            "as old as what was not kept",
            vec![old.clone(), older.clone(), path("z", "0", 80)],
            changed(&[], true),
        ),
        ("none", vec![], changed(&[], true)),
    ] {
        assert_eq!(drift(&before, &state("2", &after, false), &own(&[])), want, "{what}");
    }
    // The later list is all, so what it has not is gone.
    let after = state("2", &[older], true);
    assert_eq!(drift(&before, &after, &own(&[])), changed(&["old"], true));
    assert_eq!(drift(&before, &after, &own(&["old"])), changed(&[], true), "who knows of the others");
}

#[test]
fn only_so_many_are_named() {
    let many: Vec<_> = (0..MAX_NAMED + 1).map(|n| path(&format!("{n:02}"), "0", 1)).collect();
    let got = drift(&state("1", &[], true), &state("2", &many, true), &own(&[]));
    assert!(matches!(&got, Drift::Changed { paths, more: true, .. } if paths.len() == MAX_NAMED), "{got:?}");
    let got = drift(&state("1", &[], true), &state("2", &many[1..], true), &own(&[]));
    assert!(matches!(&got, Drift::Changed { paths, more: false, .. } if paths.len() == MAX_NAMED), "{got:?}");
    // Both lists are the same, the hashes are not.
    assert_eq!(drift(&state("1", &many, true), &state("2", &many, true), &own(&[])), changed(&[], true));
}

#[test]
fn a_head_that_moved_is_nobodys_own() {
    let before = state("1", &[path("both", "0", 1), path("committed", "0", 1)], true);
    let after = state("2", &[path("both", "1", 2), path("new", "0", 2)], true);
    let after = TreeState { head: Some("9b1c22d000".into()), branch: None, ..after };
    let want = Drift::Changed {
        moved: vec!["branch main..none".into(), "commit 3f2a91c..9b1c22d".into()],
        paths: vec!["both".into()],
        more: true,
    };
    assert_eq!(drift(&before, &after, &own(&[])), want);
    assert_eq!(want.to_string(), "branch main..none; commit 3f2a91c..9b1c22d; changed: both; perhaps more");
    let all = own(&["both", "committed", "new"]);
    assert!(matches!(drift(&before, &after, &all), Drift::Changed { paths, .. } if paths.is_empty()));
}

#[test]
fn in_one_line() {
    for (drift, want) in [
        (Drift::Same, "the tree is unchanged"),
        (Drift::Own, "only files changed that the worker had edited"),
        (changed(&["a", "b\u{1b}[2Jc"], false), "changed: a, b [2Jc"),
        (changed(&[], true), "paths unknown"),
        (Drift::Unknown("no\ngit".into()), "not known whether the tree changed: no git"),
    ] {
        assert_eq!(drift.to_string(), want);
        let json = serde_json::to_string(&drift).unwrap();
        assert_eq!(serde_json::from_str::<Drift>(&json).unwrap(), drift);
    }
}

fn some_state() -> impl Strategy<Value = TreeState> {
    let paths = proptest::collection::btree_map("[a-d]", ("[01]", 0_i64..4), 0..4);
    (0..4_u8, paths, any::<bool>(), "[xy]", "[xy]").prop_map(|(hash, paths, is_all, head, branch)| {
        let paths: Vec<_> = paths.into_iter().map(|(p, (h, at))| path(&p, &h, at)).collect();
        let state = state(&hash.to_string(), &paths, is_all);
        TreeState { head: Some(head), branch: Some(branch), ..state }
    })
}

proptest! {
    #[test]
    fn a_change_never_goes_unsaid(a in some_state(), b in some_state(), mine in proptest::collection::btree_set("[a-d]", 0..4)) {
        let got = drift(&a, &b, &mine);
        prop_assert_eq!(got == Drift::Same, a.hash == b.hash);
        if got == Drift::Own {
            prop_assert!(a.is_all && b.is_all && a.head == b.head && a.branch == b.branch && !mine.is_empty());
        }
        if let Drift::Changed { moved, paths, more } = &got {
            prop_assert!(!moved.is_empty() || !paths.is_empty() || *more);
            prop_assert!(paths.iter().all(|p| !mine.contains(p)));
        }
        // The same the other way round, but for the names of what moved.
        let back = drift(&b, &a, &mine);
        match (got, back) {
            (Drift::Changed { paths: p, more: m, .. }, Drift::Changed { paths: q, more: n, .. }) => prop_assert_eq!((p, m), (q, n)),
            (got, back) => prop_assert_eq!(got, back),
        }
    }
}
