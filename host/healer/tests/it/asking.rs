//! What operators ask for.

use probehost_healer::{Ask, AskError};
use probehost_model::lifecycle::{LifecycleState, Policy};
use probehost_model::{SYSTEM_PRINCIPAL, Trigger};
use tokio::time::sleep;

use crate::fakes::{Habits, SECOND};
use crate::scene::{Host, plain, running};
use LifecycleState::{Offline, Quarantined, Restarting, Running, Updating};

fn quarantine() -> Ask {
    Ask::Quarantine("odd answers".to_owned())
}

async fn refusal(host: &Host, ask: Ask) -> String {
    let before = host.record("a");
    let error = host.ask(ask).await.unwrap_err();
    assert!(matches!(error, AskError::Refused(_)), "{error:?}");
    assert_eq!(host.record("a").revision, before.revision);
    error.to_string()
}

/// E3, A1: a restart by hand happens at once, in the operator's name.
#[tokio::test(start_paused = true)]
async fn a_restart_by_hand() {
    let (scene, host) = running(plain()).await;
    sleep(SECOND).await;
    host.ask(Ask::Restart).await.unwrap();
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Restarting, 1));
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.shelf.states("a"), [Running, Restarting, Running]);
    let audit = scene.shelf.audit("a");
    assert_eq!(audit[0], "restart restart 1: decided: restart by hand");
    let writes = scene.shelf.writes("a");
    for write in writes {
        let to = write.transitions.first().map(|made| made.to);
        let by_hand = (write.principal.as_ref(), write.trigger) == ("alice", Some(Trigger::Manual));
        assert_eq!(by_hand, to == Some(Restarting), "{write:?}");
        assert!(by_hand || write.principal == SYSTEM_PRINCIPAL);
    }
}

/// L7, A1: set aside, nothing restarts it; released, it is restarted.
#[tokio::test(start_paused = true)]
async fn quarantined_and_released_by_hand() {
    let (scene, host) = running(plain()).await;
    scene.kill(&host).await;
    host.ask(quarantine()).await.unwrap();
    sleep(3600 * SECOND).await;
    scene.world.revive("a");
    sleep(3600 * SECOND).await;
    assert_eq!((host.state("a"), scene.world.calls("a").len()), (Quarantined, 0));
    assert!(scene.shelf.tries() < 15, "{} saves", scene.shelf.tries());

    host.ask(Ask::Release).await.unwrap();
    host.until("a", Running, 5 * SECOND).await;
    assert_eq!(scene.shelf.states("a"), [Running, Offline, Quarantined, Restarting, Running]);
    assert_eq!(scene.world.calls("a").len(), 1);
    assert_eq!(
        scene.shelf.audit("a")[..3],
        ["quarantine odd answers", "release released", "restart restart 1: decided: released"]
    );
    let by_alice = scene.shelf.writes("a").iter().filter(|w| w.principal == "alice").count();
    assert_eq!(by_alice, 2);
}

/// L3, L7: a release gives all the restarts again.
#[tokio::test(start_paused = true)]
async fn a_release_begins_anew() {
    let (scene, host) = running(Policy { max_restarts: 2, ..plain() }).await;
    scene.world.habits("a", Habits { live_in: None, ..Habits::default() });
    scene.kill(&host).await;
    host.until("a", Quarantined, 300 * SECOND).await;
    host.ask(Ask::Release).await.unwrap();
    assert_eq!(host.record("a").failures, 0);
    host.until("a", Quarantined, 300 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 4);
    assert_eq!(scene.shelf.issued("a"), [1, 2, 3, 4]);
}

/// L6, L7: what does not fit the state is refused, changes nothing, and says what to do.
#[tokio::test(start_paused = true)]
async fn refusals_say_what_to_do() {
    let (scene, host) = running(plain()).await;
    let released = refusal(&host, Ask::Release).await;
    assert_eq!(released, "the target is running, not quarantined: there is nothing to release");
    for ask in [Ask::UpdatePromoted, Ask::UpdateRolledBack] {
        let text = refusal(&host, ask).await;
        assert_eq!(text, "the target is running, not updating: begin an update first");
    }
    scene.world.habits("a", Habits { takes: 30 * SECOND, ..Habits::default() });
    host.ask(Ask::Restart).await.unwrap();
    let text = "restart 1 is under way; wait for its end, or quarantine the target";
    sleep(SECOND).await;
    assert_eq!(refusal(&host, Ask::Restart).await, text);
    host.ask(quarantine()).await.unwrap();
    let text = "the target is quarantined; release it, and it is restarted";
    assert_eq!(refusal(&host, Ask::Restart).await, text);
    assert_eq!(refusal(&host, quarantine()).await, text);
    host.ask(Ask::UpdateBegin).await.unwrap();
    assert_eq!(host.state("a"), Updating);
    let text = "an update is under way; finish it first, as promoted or as rolled back";
    for ask in [Ask::Restart, quarantine(), Ask::Release, Ask::UpdateBegin] {
        assert_eq!(refusal(&host, ask).await, text);
    }
}

/// E3: there is nothing to ask of a target that is not managed.
#[tokio::test(start_paused = true)]
async fn only_managed_targets_can_be_asked() {
    let (_scene, host) = running(plain()).await;
    let error = host.healer.ask("b", Ask::Restart, "alice").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no managed target \"b\"");
}

/// L3: an operator's restart of a target that waits for its own takes the place of that.
#[tokio::test(start_paused = true)]
async fn by_hand_before_it_is_due() {
    let (scene, host) = running(Policy { base: 60 * SECOND, ..plain() }).await;
    scene.kill(&host).await;
    host.ask(Ask::Restart).await.unwrap();
    host.until("a", Running, 5 * SECOND).await;
    sleep(300 * SECOND).await;
    assert_eq!(scene.world.calls("a").len(), 1);
    assert_eq!(scene.shelf.states("a"), [Running, Offline, Restarting, Running]);
}
