//! Sets of nodes that are to become one each, such that no cycle comes of it. Knows edges and indices alone.
//!
//! The sets, with every other node as a set of its own, are kept in an order in which no edge goes backwards. Joining sets
//! is allowed if no path leaves them and comes back; only sets between them in the order can be on one.

/// An index that stands for nothing.
const NONE: usize = usize::MAX;

/// Disjoint sets of the nodes of an acyclic graph.
pub struct Contraction {
    /// The set of each node, by its number.
    of: Vec<usize>,
    members: Vec<Vec<usize>>,
    /// The nodes after each node.
    after: Vec<Vec<usize>>,
    /// Sets in order, with gaps; and the place of each in it.
    order: Vec<usize>,
    place: Vec<usize>,
    /// Whether a set was seen in search number so-and-so.
    seen: Vec<u32>,
    search: u32,
}

impl Contraction {
    /// Each node alone. `order` is all nodes with no edge backwards (nodes that are not in it don't take part); `after` are
    /// the edges.
    pub fn new(order: &[usize], after: Vec<Vec<usize>>) -> Self {
        let n = after.len();
        let mut place = vec![NONE; n];
        order.iter().enumerate().for_each(|(at, &i)| place[i] = at);
        let members = (0..n).map(|i| vec![i]).collect();
        Self { of: (0..n).collect(), members, after, order: order.to_vec(), place, seen: vec![0; n], search: 0 }
    }

    /// The set of a node.
    pub fn set(&self, node: usize) -> usize {
        self.of[node]
    }

    /// The nodes of a set.
    pub fn members(&self, set: usize) -> &[usize] {
        &self.members[set]
    }

    /// Makes one set of several, if that makes no cycle.
    pub fn join(&mut self, sets: &[usize]) -> bool {
        let mut sets = sets.to_vec();
        sets.sort_unstable_by_key(|&s| self.place[s]);
        sets.dedup();
        let (&[first, ..], Some(&last)) = (&sets[..], sets.last()) else { return false };
        let (from, to) = (self.place[first], self.place[last]);
        if sets.len() < 2 || to == NONE {
            return false;
        }
        // What can be reached from outside successors, up to the last.
        self.search += 1;
        let mut reached: Vec<usize> = Vec::new();
        let mut stack: Vec<usize> = sets.clone();
        while let Some(set) = stack.pop() {
            let inside = sets.contains(&set);
            for i in 0..self.members[set].len() {
                for j in 0..self.after[self.members[set][i]].len() {
                    let next = self.of[self.after[self.members[set][i]][j]];
                    if sets.contains(&next) {
                        if !inside {
                            return false;
                        }
                    } else if self.seen[next] != self.search && self.place[next] <= to {
                        self.seen[next] = self.search;
                        reached.push(next);
                        stack.push(next);
                    }
                }
            }
        }
        self.unite(&sets, from, to, reached);
        true
    }

    /// The joined set stands after what cannot be reached from it, before what can.
    fn unite(&mut self, sets: &[usize], from: usize, to: usize, mut reached: Vec<usize>) {
        let keep = sets[0];
        for &s in &sets[1..] {
            let moved = std::mem::take(&mut self.members[s]);
            moved.iter().for_each(|&m| self.of[m] = keep);
            self.members[keep].extend(moved);
            self.place[s] = NONE;
        }
        reached.sort_unstable_by_key(|&s| self.place[s]);
        let unreached = self.order[from..=to].iter().copied();
        let mut new: Vec<usize> = unreached.filter(|&s| s != NONE && !sets.contains(&s) && self.seen[s] != self.search).collect();
        new.push(keep);
        new.extend(reached);
        new.resize(to - from + 1, NONE);
        for (at, &set) in new.iter().enumerate().filter(|(_, s)| **s != NONE) {
            self.place[set] = from + at;
        }
        self.order[from..=to].copy_from_slice(&new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(n: usize, edges: &[(usize, usize)]) -> Contraction {
        let mut after = vec![Vec::new(); n];
        edges.iter().for_each(|&(a, b)| after[a].push(b));
        Contraction::new(&(0..n).collect::<Vec<_>>(), after)
    }

    #[test]
    fn a_path_outside_forbids() {
        // 0 -> 1 -> 3, 0 -> 3, 2 -> 3
        let mut c = of(4, &[(0, 1), (1, 3), (0, 3), (2, 3)]);
        assert!(!c.join(&[0, 3]));
        assert!(c.join(&[0, 2]), "no path between them");
        assert!(!c.join(&[2, 3]), "0 is in the set now, and 1 comes between");
        assert!(c.join(&[c.set(0), 1, 3]));
        assert_eq!(c.members(c.set(3)).len(), 4);
    }

    /// Against a search of the whole graph, for random graphs.
    #[test]
    fn never_a_cycle() {
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut refused = 0;
        for _ in 0..60 {
            let n = 30;
            let edges: Vec<(usize, usize)> = (0..50).map(|_| (random(n), random(n))).filter(|(a, b)| a < b).collect();
            let mut c = of(n, &edges);
            for _ in 0..60 {
                let pair = [c.set(random(n)), c.set(random(n))];
                let of = c.of.clone();
                let joined = c.join(&pair);
                let merged: Vec<usize> = of.iter().map(|&s| if s == pair[1] { pair[0] } else { s }).collect();
                let fine = pair[0] != pair[1] && acyclic(n, &edges, &merged);
                assert_eq!(joined, fine);
                refused += usize::from(pair[0] != pair[1] && !joined);
                assert!(edges.iter().all(|&(a, b)| c.set(a) == c.set(b) || c.place[c.set(a)] < c.place[c.set(b)]));
            }
        }
        assert!(refused > 100);
    }

    fn acyclic(n: usize, edges: &[(usize, usize)], of: &[usize]) -> bool {
        let mut left: Vec<usize> = of.to_vec();
        left.sort_unstable();
        left.dedup();
        let between: Vec<(usize, usize)> = edges.iter().map(|&(a, b)| (of[a], of[b])).filter(|(a, b)| a != b).collect();
        for _ in 0..n {
            let free = |s: &usize| !between.iter().any(|(a, b)| b == s && left.contains(a));
            let gone: Vec<usize> = left.iter().copied().filter(free).collect();
            left.retain(|s| !gone.contains(s));
        }
        left.is_empty()
    }
}
