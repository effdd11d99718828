import com.google.gson.JsonParser;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.util.Config;
import io.kubernetes.client.util.generic.KubernetesApiResponse;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesObject;
import io.kubernetes.client.util.generic.options.ListOptions;
import io.kubernetes.client.util.generic.options.PatchOptions;
import io.kubernetes.client.custom.V1Patch;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The official Java client: the dynamic API, patches, and an informer. */
public final class Official {
  private static DynamicKubernetesObject gadget(String name, String spec) {
    String text = "{\"apiVersion\": \"clients.example.com/v1\", \"kind\": \"Gadget\", \"metadata\": {\"name\": \"" + name
        + "\", \"namespace\": \"" + Transcript.NAMESPACE + "\"}, \"spec\": " + spec + "}";
    return new DynamicKubernetesObject(JsonParser.parseString(text).getAsJsonObject());
  }

  private static <T extends io.kubernetes.client.common.KubernetesType> T tell(String step, KubernetesApiResponse<T> response) throws Exception {
    Object body = response.isSuccess() ? response.getObject() : response.getStatus();
    String text = body instanceof DynamicKubernetesObject object ? object.getRaw().toString() : new com.google.gson.Gson().toJson(body);
    Transcript.say(step, Map.of("code", response.getHttpStatusCode(), "body", Transcript.JSON.readTree(text)));
    return response.getObject();
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = Config.defaultClient();
    client.setReadTimeout(0);
    DynamicKubernetesApi api = new DynamicKubernetesApi("clients.example.com", "v1", "gadgets", client);
    String namespace = Transcript.NAMESPACE;
    tell("create", api.create(gadget("one", "{\"color\": \"blue\", \"replicas\": 2}")));
    tell("create again", api.create(gadget("one", "{\"color\": \"blue\"}")));
    tell("invalid", api.create(gadget("two", "{\"color\": \"pink\", \"replicas\": 10}")));
    DynamicKubernetesObject first = tell("get", api.get(namespace, "one"));
    tell("missing", api.get(namespace, "none"));
    first.getRaw().getAsJsonObject("spec").addProperty("color", "red");
    tell("update", api.update(first));
    tell("stale update", api.update(first));
    tell("merge patch", api.patch(namespace, "one", V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, new V1Patch("{\"spec\": {\"ratio\": 0.5}}")));
    PatchOptions mine = new PatchOptions();
    mine.setFieldManager("mine");
    V1Patch blue = new V1Patch(gadget("one", "{\"color\": \"blue\"}").getRaw().toString());
    tell("apply", api.patch(namespace, "one", V1Patch.PATCH_FORMAT_APPLY_YAML, blue, mine));
    mine.setForce(true);
    tell("forced", api.patch(namespace, "one", V1Patch.PATCH_FORMAT_APPLY_YAML, blue, mine));
    tell("list", api.list(namespace));
    ListOptions selected = new ListOptions();
    selected.setFieldSelector("spec.color=blue");
    Transcript.say("by field", api.list(namespace, selected).getObject().getItems().size());
    Transcript.say("events", events(client, api));
    tell("delete", api.delete(namespace, "one"));
    tell("delete again", api.delete(namespace, "one"));
    System.exit(0);
  }

  private static List<String> events(ApiClient client, DynamicKubernetesApi api) throws InterruptedException {
    SharedInformerFactory factory = new SharedInformerFactory(client);
    BlockingQueue<String> events = new LinkedBlockingQueue<>();
    factory.sharedIndexInformerFor(api, DynamicKubernetesObject.class, 0, Transcript.NAMESPACE).addEventHandler(handler(events));
    factory.startAllRegisteredInformers();
    List<String> found = new ArrayList<>();
    found.add(events.poll(60, TimeUnit.SECONDS));
    api.create(gadget("seen", "{\"color\": \"blue\"}"));
    found.add(events.poll(60, TimeUnit.SECONDS));
    api.patch(Transcript.NAMESPACE, "seen", V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, new V1Patch("{\"spec\": {\"color\": \"green\"}}"));
    found.add(events.poll(60, TimeUnit.SECONDS));
    api.delete(Transcript.NAMESPACE, "seen");
    found.add(events.poll(60, TimeUnit.SECONDS));
    factory.stopAllRegisteredInformers();
    return found;
  }

  private static ResourceEventHandler<DynamicKubernetesObject> handler(BlockingQueue<String> events) {
    return new ResourceEventHandler<>() {
      @Override
      public void onAdd(DynamicKubernetesObject object) {
        events.add("add " + object.getMetadata().getName());
      }

      @Override
      public void onUpdate(DynamicKubernetesObject before, DynamicKubernetesObject object) {
        events.add("update " + object.getMetadata().getName());
      }

      @Override
      public void onDelete(DynamicKubernetesObject object, boolean unknown) {
        events.add("delete " + object.getMetadata().getName());
      }
    };
  }

  private Official() {}
}
