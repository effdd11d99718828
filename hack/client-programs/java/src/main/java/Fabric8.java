import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.ListOptionsBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** fabric8, the usual Java client: generic resources, edits, server-side apply, a watch and an informer. */
public final class Fabric8 {
  private static final ResourceDefinitionContext KIND = new ResourceDefinitionContext.Builder()
      .withGroup("clients.example.com").withVersion("v1").withKind("Gadget").withPlural("gadgets").withNamespaced(true).build();

  private static GenericKubernetesResource gadget(String name, Map<String, Object> spec, Map<String, String> labels) {
    Map<String, Object> full = new HashMap<>(Map.of("color", "blue"));
    full.putAll(spec);
    return new GenericKubernetesResourceBuilder().withApiVersion("clients.example.com/v1").withKind("Gadget")
        .withNewMetadata().withName(name).withNamespace(Transcript.NAMESPACE).withLabels(labels).endMetadata()
        .addToAdditionalProperties("spec", full).build();
  }

  private static <T> T tell(String step, Callable<T> call) throws Exception {
    try {
      T answer = call.call();
      Transcript.say(step, answer);
      return answer;
    } catch (KubernetesClientException error) {
      Transcript.say(step, Map.of("code", error.getCode(), "status", Transcript.JSON.valueToTree(error.getStatus())));
      return null;
    }
  }

  public static void main(String[] arguments) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      var all = client.genericKubernetesResources(KIND);
      var here = all.inNamespace(Transcript.NAMESPACE);
      life(client, all);
      BlockingQueue<String> events = new LinkedBlockingQueue<>();
      try (var watch = here.watch(new ListOptionsBuilder().withTimeoutSeconds(60L).build(), watcher(events));
          var informer = here.inform(handler(events))) {
        here.resource(gadget("seen", Map.of(), Map.of())).create();
        here.withName("seen").edit(object -> {
          object.setAdditionalProperty("spec", Map.of("color", "green"));
          return object;
        });
        here.withName("seen").delete();
        Transcript.say("events", seen(events));
      }
      tell("delete", () -> here.withName("one").withGracePeriod(0).delete());
      Transcript.say("deleted", here.withName("one").get() == null);
      tell("delete by label", () -> here.withLabel("part", "1").delete());
      tell("left", () -> here.list());
      Transcript.say("discovered", client.getApiGroup("clients.example.com"));
      Transcript.say("minor", client.getKubernetesVersion().getMinor());
    }
  }

  private static void life(KubernetesClient client, MixedOperation<GenericKubernetesResource, ?, Resource<GenericKubernetesResource>> all)
      throws Exception {
    var here = all.inNamespace(Transcript.NAMESPACE);
    tell("create", () -> here.resource(gadget("one", Map.of("replicas", 2), Map.of("tier", "a"))).create());
    tell("create again", () -> here.resource(gadget("one", Map.of(), Map.of())).create());
    tell("invalid", () -> here.resource(gadget("two", Map.of("color", "pink", "replicas", 10), Map.of())).create());
    tell("get", () -> here.withName("one").get());
    Transcript.say("missing", String.valueOf(here.withName("none").get()));
    GenericKubernetesResource stale = here.withName("one").get();
    tell("edit", () -> here.withName("one").edit(object -> {
      object.getMetadata().setAnnotations(Map.of("note", "x"));
      return object;
    }));
    tell("stale", () -> here.resource(stale).lockResourceVersion(stale.getMetadata().getResourceVersion()).update());
    PatchContext merge = PatchContext.of(PatchType.JSON_MERGE);
    tell("merge patch", () -> here.withName("one").patch(merge, "{\"spec\": {\"ratio\": 0.5}}"));
    tell("json patch", () -> here.withName("one").patch(PatchContext.of(PatchType.JSON), "[{\"op\": \"add\", \"path\": \"/spec/port\", \"value\": 1}]"));
    tell("apply", () -> here.resource(gadget("one", Map.of("color", "red"), Map.of())).fieldManager("mine").serverSideApply());
    tell("forced", () -> here.resource(gadget("one", Map.of("color", "red"), Map.of())).fieldManager("mine").forceConflicts().serverSideApply());
    tell("status", () -> here.withName("one").subresource("status").patch(merge, "{\"status\": {\"replicas\": 3, \"selector\": \"app=one\"}}"));
    tell("scale", () -> here.withName("one").scale());
    for (int number = 0; number < 3; number++) {
      here.resource(gadget("many-" + number, Map.of(), Map.of("part", String.valueOf(number % 2)))).create();
    }
    tell("page", () -> here.list(new ListOptionsBuilder().withLimit(2L).build()));
    tell("by label", () -> here.withLabel("part", "1").list());
    tell("by field", () -> here.withField("spec.color", "blue").list());
  }

  private static Watcher<GenericKubernetesResource> watcher(BlockingQueue<String> events) {
    return new Watcher<>() {
      @Override
      public void eventReceived(Action action, GenericKubernetesResource object) {
        events.add("watch " + action + " " + object.getMetadata().getName() + " " + object.<Object>get("spec", "color"));
      }

      @Override
      public void onClose(WatcherException cause) {
        events.add("watch closed");
      }
    };
  }

  private static ResourceEventHandler<GenericKubernetesResource> handler(BlockingQueue<String> events) {
    return new ResourceEventHandler<>() {
      @Override
      public void onAdd(GenericKubernetesResource object) {
        events.add("informer add " + object.getMetadata().getName());
      }

      @Override
      public void onUpdate(GenericKubernetesResource before, GenericKubernetesResource object) {
        events.add("informer update " + object.getMetadata().getName());
      }

      @Override
      public void onDelete(GenericKubernetesResource object, boolean unknown) {
        events.add("informer delete " + object.getMetadata().getName());
      }
    };
  }

  /** Returns what watch and informer saw, in order each: both saw four objects first, then the life of another. */
  private static List<List<String>> seen(BlockingQueue<String> events) throws InterruptedException {
    List<String> found = new ArrayList<>();
    while (found.size() < 14) {
      String next = events.poll(60, TimeUnit.SECONDS);
      if (next == null) {
        found.add("nothing came for 60 s");
        break;
      }
      found.add(next);
    }
    return List.of(
        found.stream().filter(line -> line.startsWith("watch")).sorted().toList(),
        found.stream().filter(line -> line.startsWith("informer")).sorted().toList(),
        found.stream().filter(line -> line.contains(" seen")).filter(line -> line.startsWith("watch")).toList());
  }

  private Fabric8() {}
}
