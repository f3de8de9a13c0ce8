//! Permits for what is expensive to hold, so many for the node and fewer for each project: whoever fills the share of one
//! project leaves the others theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use holdfast_domain::ids::ProjectId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) struct ProjectPermits {
    of_node: Arc<Semaphore>,
    of_projects: Mutex<HashMap<ProjectId, Weak<Semaphore>>>,
    per_project: usize,
}

impl ProjectPermits {
    pub fn new(total: usize, per_project: usize) -> Self {
        Self { of_node: Arc::new(Semaphore::new(total)), of_projects: Mutex::default(), per_project }
    }

    /// Waits for a permit: first among the requests of the same project, then among all.
    pub async fn acquire(&self, project: ProjectId) -> [OwnedSemaphorePermit; 2] {
        let of_project = self.of_project(project);
        let own = of_project.acquire_owned().await.expect("the semaphore is never closed");
        let shared = self.of_node.clone().acquire_owned().await.expect("the semaphore is never closed");
        [own, shared]
    }

    fn of_project(&self, project: ProjectId) -> Arc<Semaphore> {
        let mut known = self.of_projects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = known.get(&project).and_then(Weak::upgrade) {
            return semaphore;
        }
        // Nobody holds or waits for a permit of these projects.
        known.retain(|_, semaphore| semaphore.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(self.per_project));
        known.insert(project, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_project_that_uses_its_share_up_leaves_the_others_theirs() {
        let permits = ProjectPermits::new(3, 2);
        let (greedy, other, third) = (ProjectId::from(1), ProjectId::from(2), ProjectId::from(3));
        let held = [permits.acquire(greedy).await, permits.acquire(greedy).await];
        assert!(permits.acquire(greedy).now_or_never().is_none());
        let last = permits.acquire(other).now_or_never().expect("a permit of another project");
        assert!(permits.acquire(third).now_or_never().is_none(), "the node has no more");
        drop(held);
        assert!(permits.acquire(third).now_or_never().is_some());
        drop(last);
        permits.of_project(ProjectId::from(4));
        assert_eq!(permits.of_projects.lock().unwrap().len(), 1, "idle projects are forgotten");
    }
}
