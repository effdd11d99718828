// The official JavaScript client: custom objects, the object API, server-side apply, a watch and an informer.
import * as k8s from '@kubernetes/client-node';

const namespace = process.env.CLIENT_NAMESPACE;
const where = { group: 'clients.example.com', version: 'v1', plural: 'gadgets', namespace };
const config = new k8s.KubeConfig();
config.loadFromDefault();
const api = config.makeApiClient(k8s.CustomObjectsApi);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);

const say = (step, answer) => console.log(JSON.stringify({ step, answer }));
const gadget = (name, spec = {}, labels = {}) => ({
  apiVersion: 'clients.example.com/v1', kind: 'Gadget', metadata: { name, namespace, labels }, spec: { color: 'blue', ...spec },
});

async function tell(step, call) {
  try {
    const answer = await call();
    say(step, answer);
    return answer;
  } catch (error) {
    const body = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
    say(step, { code: error.code, body: body ?? String(error) });
    return undefined;
  }
}

await tell('create', () => api.createNamespacedCustomObject({ ...where, body: gadget('one', { replicas: 2 }, { tier: 'a' }) }));
await tell('create again', () => api.createNamespacedCustomObject({ ...where, body: gadget('one') }));
await tell('invalid', () => api.createNamespacedCustomObject({ ...where, body: gadget('two', { color: 'pink', replicas: 10 }) }));
const first = await tell('get', () => api.getNamespacedCustomObject({ ...where, name: 'one' }));
await tell('missing', () => api.getNamespacedCustomObject({ ...where, name: 'none' }));
first.spec.color = 'red';
await tell('replace', () => api.replaceNamespacedCustomObject({ ...where, name: 'one', body: first }));
await tell('stale replace', () => api.replaceNamespacedCustomObject({ ...where, name: 'one', body: first }));
await tell('object read', () => objects.read({ apiVersion: 'clients.example.com/v1beta1', kind: 'Gadget', metadata: { name: 'one', namespace } }));
await tell('object patch', () => objects.patch(gadget('one', { ratio: 0.5 }), undefined, undefined, 'node', undefined, k8s.PatchStrategy.MergePatch));
await tell('apply', () => objects.patch(gadget('one'), undefined, undefined, 'other', undefined, k8s.PatchStrategy.ServerSideApply));
await tell('forced', () => objects.patch(gadget('one'), undefined, undefined, 'other', true, k8s.PatchStrategy.ServerSideApply));
for (let number = 0; number < 3; number += 1) {
  await api.createNamespacedCustomObject({ ...where, body: gadget(`many-${number}`, {}, { part: String(number % 2) }) });
}
await tell('list', () => objects.list('clients.example.com/v1', 'Gadget', namespace));
await tell('by label', () => api.listNamespacedCustomObject({ ...where, labelSelector: 'part=1' }));

const path = `/apis/clients.example.com/v1/namespaces/${namespace}/gadgets`;
const seen = [];
const events = new Promise((resolve) => { seen.resolve = resolve; });
const informer = k8s.makeInformer(config, path, () => api.listNamespacedCustomObject(where));
const note = (type) => (object) => {
  seen.push(`${type} ${object.metadata.name} ${object.spec.color}`);
  if (seen.length === 7) seen.resolve();
};
for (const type of ['add', 'update', 'delete']) informer.on(type, note(type));
informer.on('error', (error) => { say('informer failed', String(error)); seen.resolve(); });
await informer.start();
await api.createNamespacedCustomObject({ ...where, body: gadget('seen') });
await objects.patch(gadget('seen', { color: 'green' }), undefined, undefined, 'node', undefined, k8s.PatchStrategy.MergePatch);
await api.deleteNamespacedCustomObject({ ...where, name: 'seen' });
await events;
await informer.stop();
say('informer', [...seen.slice(0, 4).sort(), ...seen.slice(4)]);

await tell('delete', () => api.deleteNamespacedCustomObject({ ...where, name: 'one', propagationPolicy: 'Background' }));
await tell('delete collection', () => api.deleteCollectionNamespacedCustomObject({ ...where, labelSelector: 'part=1' }));
await tell('left', () => api.listNamespacedCustomObject(where));
process.exit(0);
