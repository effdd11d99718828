//! kube-rs: dynamic objects of a discovered kind, patches, subresources, a watch, and a reflector over a watcher.

use futures::{StreamExt, TryStreamExt};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent, WatchParams,
};
use kube::runtime::{watcher, WatchStreamExt};
use kube::{discovery, Client, ResourceExt};
use serde_json::{json, Value};

fn say(step: &str, answer: Value) {
    println!("{}", json!({"step": step, "answer": answer}));
}

fn told<T: serde::Serialize>(step: &str, answer: Result<T, kube::Error>) -> Option<T> {
    match answer {
        Ok(value) => {
            say(step, serde_json::to_value(&value).expect("an object is JSON"));
            Some(value)
        }
        Err(kube::Error::Api(status)) => {
            say(step, json!({"error": serde_json::to_value(&status).expect("a Status is JSON")}));
            None
        }
        Err(other) => panic!("{step}: {other}"),
    }
}

fn gadget(name: &str, spec: Value, labels: Value) -> DynamicObject {
    let mut full = json!({"color": "blue"});
    full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "clients.example.com/v1", "kind": "Gadget", "metadata": {"name": name, "labels": labels}, "spec": full,
    }))
    .expect("a Gadget")
}

async fn life(api: &Api<DynamicObject>) -> Result<(), kube::Error> {
    let post = PostParams::default();
    told("create", api.create(&post, &gadget("one", json!({"replicas": 2}), json!({"tier": "a"}))).await);
    told("create again", api.create(&post, &gadget("one", json!({}), json!({}))).await);
    told("invalid", api.create(&post, &gadget("two", json!({"color": "pink", "replicas": 10}), json!({}))).await);
    let mut first = told("get", api.get("one").await).expect("it was created");
    told("missing", api.get("none").await);
    say("optional", json!(api.get_opt("none").await?.is_none()));
    say("metadata", serde_json::to_value(api.get_metadata("one").await?).unwrap());
    first.data["spec"]["color"] = json!("red");
    told("replace", api.replace("one", &post, &first).await);
    told("stale replace", api.replace("one", &post, &first).await);
    let mine = PatchParams::apply("mine");
    let patch = PatchParams::default();
    told("merge patch", api.patch("one", &patch, &Patch::Merge(json!({"spec": {"ratio": 0.5}}))).await);
    told("strict", api.patch("one", &patch.clone().validation_strict(), &Patch::Merge(json!({"spec": {"shape": 1}}))).await);
    let blue = gadget("one", json!({}), json!({}));
    told("apply", api.patch("one", &mine, &Patch::Apply(&blue)).await);
    told("forced", api.patch("one", &mine.clone().force(), &Patch::Apply(&blue)).await);
    let status = json!({"status": {"replicas": 3, "selector": "app=one"}});
    told("status", api.patch_status("one", &patch, &Patch::Merge(status)).await);
    told("scale", api.get_scale("one").await);
    told("scaled", api.patch_scale("one", &patch, &Patch::Merge(json!({"spec": {"replicas": 4}}))).await);
    Ok(())
}

async fn collections(api: &Api<DynamicObject>) -> Result<(), kube::Error> {
    for number in 0..4 {
        let labels = json!({"part": (number % 2).to_string()});
        api.create(&PostParams::default(), &gadget(&format!("many-{number}"), json!({}), labels)).await?;
    }
    let page = told("first page", api.list(&ListParams::default().limit(3)).await).expect("a page");
    let token = page.metadata.continue_.unwrap_or_default();
    told("second page", api.list(&ListParams::default().limit(3).continue_token(&token)).await);
    told("by label", api.list(&ListParams::default().labels("part=1")).await);
    told("by field", api.list(&ListParams::default().fields("spec.color=blue")).await);
    let count = watcher(api.clone(), watcher::Config::default().streaming_lists()).default_backoff().applied_objects();
    let mut seen: Vec<String> = count.take(5).map_ok(|object| object.name_any()).try_collect().await.expect("a streaming list");
    seen.sort();
    say("streaming list", json!(seen));
    Ok(())
}

async fn events(api: &Api<DynamicObject>) -> Result<(), kube::Error> {
    let from = api.list_metadata(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
    api.create(&PostParams::default(), &gadget("seen", json!({}), json!({}))).await?;
    api.patch("seen", &PatchParams::default(), &Patch::Merge(json!({"spec": {"color": "green"}}))).await?;
    api.delete("seen", &DeleteParams::default()).await?;
    let mut stream = api.watch(&WatchParams::default().timeout(60), &from).await?.boxed();
    for _ in 0..3 {
        let (kind, object) = match stream.try_next().await?.expect("an event") {
            WatchEvent::Added(object) => ("ADDED", object),
            WatchEvent::Modified(object) => ("MODIFIED", object),
            WatchEvent::Deleted(object) => ("DELETED", object),
            other => panic!("{other:?}"),
        };
        say("event", json!({"type": kind, "object": serde_json::to_value(object).unwrap()}));
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), kube::Error> {
    let namespace = std::env::var("CLIENT_NAMESPACE").expect("a namespace");
    let client = Client::try_default().await?;
    let group = discovery::group(&client, "clients.example.com").await?;
    let mut kinds: Vec<_> = group.recommended_resources().into_iter().map(|(found, _)| format!("{}/{}", found.version, found.plural)).collect();
    kinds.sort();
    say("discovered", json!(kinds));
    let resource: ApiResource = group.recommended_kind("Gadget").expect("a Gadget").0;
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &resource);
    life(&api).await?;
    collections(&api).await?;
    events(&api).await?;
    let other = Preconditions { uid: Some("00000000-0000-0000-0000-000000000000".to_string()), ..Preconditions::default() };
    let guarded = DeleteParams { preconditions: Some(other), ..DeleteParams::default() };
    told("delete another", api.delete("one", &guarded).await.map(|either| either.left()));
    told("delete", api.delete("one", &DeleteParams::background()).await.map(|either| either.right()));
    told("delete collection", api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("part=1")).await.map(|either| either.right()));
    told("left", api.list(&ListParams::default()).await);
    Ok(())
}
