// Pod: defaults, validation and columns. This cluster runs no containers; clients write the status of a pod.
import { at, items, mapAt, setDefault, text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Kind } from '../../apiserver/kinds/kind.ts';
import { type FieldError, forbiddenField, requiredValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { inKeyOrder, isRecord } from '../../object/text/json.ts';
import { podColumns } from './shapes/columns.ts';

export const podKind: Kind = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  verbs: allVerbs,
  schema: 'io.k8s.api.core.v1.Pod',
  storage: 'pods',
  strategy: {
    countsGenerations: true,
    hasStatus: true,
    setDefaults,
    prepareForCreate: ({ object }) => {
      const given = text(object, 'status', 'phase');
      object['status'] = { phase: given || 'Pending', qosClass: qualityOf(object) };
      addTolerations(object);
      const spec = mapAt(object, 'spec');
      setDefault(spec, 'preemptionPolicy', 'PreemptLowerPriority');
      spec['priority'] ??= 0;
    },
    prepareForUpdate: ({ object }) => addTolerations(object),
    validate: ({ object, old }) => podErrors(object, old),
    deletion: {
      returnsObject: true,
      // Without a node no kubelet would finish the grace period.
      gracePeriodSeconds: (object) =>
        text(object, 'spec', 'nodeName') === '' ? 0 : Number(at(object, 'spec', 'terminationGracePeriodSeconds') ?? 30),
    },
  },
  columns: podColumns,
  subresources: { status: { mode: 'part', writes: ['status'], verbs: ['get', 'patch', 'update'] } },
  selectableFields: {
    'spec.nodeName': (object) => text(object, 'spec', 'nodeName'),
    'spec.restartPolicy': (object) => text(object, 'spec', 'restartPolicy'),
    'spec.schedulerName': (object) => text(object, 'spec', 'schedulerName'),
    'spec.serviceAccountName': (object) => text(object, 'spec', 'serviceAccountName'),
    'status.phase': (object) => text(object, 'status', 'phase'),
    'status.podIP': (object) => text(object, 'status', 'podIP'),
  },
};

const podDefaults: readonly (readonly [string, unknown])[] = [
  ['restartPolicy', 'Always'],
  ['terminationGracePeriodSeconds', 30],
  ['dnsPolicy', 'ClusterFirst'],
  ['schedulerName', 'default-scheduler'],
  ['enableServiceLinks', true],
];

function setDefaults(object: KubeObject): void {
  const spec = mapAt(object, 'spec');
  for (const [field, value] of podDefaults) setDefault(spec, field, value);
  mapAt(spec, 'securityContext');
  for (const list of ['containers', 'initContainers']) {
    for (const container of items(spec, list)) if (isRecord(container)) setContainerDefaults(container);
  }
  for (const volume of items(spec, 'volumes')) {
    for (const source of ['secret', 'configMap', 'projected', 'downwardAPI']) {
      const found = at(volume, source);
      if (isRecord(found)) setDefault(found, 'defaultMode', 0o644);
    }
  }
}

function setContainerDefaults(container: Record<string, unknown>): void {
  const tag = /:([^/:@]+)$/.exec(text(container, 'image'))?.[1] ?? 'latest';
  const isPinned = text(container, 'image').includes('@');
  setDefault(container, 'imagePullPolicy', tag === 'latest' && !isPinned ? 'Always' : 'IfNotPresent');
  setDefault(container, 'terminationMessagePath', '/dev/termination-log');
  setDefault(container, 'terminationMessagePolicy', 'File');
  const resources = mapAt(container, 'resources');
  const limits = at(resources, 'limits');
  if (isRecord(limits)) {
    const requests = mapAt(resources, 'requests');
    for (const [name, quantity] of Object.entries(limits)) requests[name] ??= quantity;
  }
  for (const port of items(container, 'ports')) if (isRecord(port)) setDefault(port, 'protocol', 'TCP');
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const found = at(container, probe);
    if (isRecord(found)) setProbeDefaults(found);
  }
}

function setProbeDefaults(probe: Record<string, unknown>): void {
  for (const [field, value] of Object.entries({
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })) {
    if (probe[field] === 0) delete probe[field];
    setDefault(probe, field, value);
  }
  const request = at(probe, 'httpGet');
  if (!isRecord(request)) return;
  setDefault(request, 'path', '/');
  setDefault(request, 'scheme', 'HTTP');
}

/** Like the real server: every pod tolerates an unreachable node for five minutes. */
function addTolerations(object: KubeObject): void {
  const spec = mapAt(object, 'spec');
  const present = items(spec, 'tolerations');
  const missing = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].filter(
    (key) => !present.some((toleration) => text(toleration, 'key') === key),
  );
  const added = missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
  if (added.length > 0) spec['tolerations'] = [...present, ...added];
}

function qualityOf(object: KubeObject): string {
  const resources = items(object, 'spec', 'containers').map((container) => at(container, 'resources'));
  const saysSomething = resources.some((entry) => Object.keys(at(entry, 'requests') ?? {}).length > 0);
  return saysSomething ? 'Burstable' : 'BestEffort';
}

const changeableFields =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** The spec of a pod is immutable, except for images and additional tolerations. */
function changeErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const containers = items(object, 'spec', 'containers');
  if (containers.length !== items(old, 'spec', 'containers').length) {
    return [forbiddenField('spec.containers', 'pod updates may not add or remove containers')];
  }
  if (JSON.stringify(fixedPart(object)) === JSON.stringify(fixedPart(old))) return [];
  return [forbiddenField('spec', `pod updates may not change fields other than ${changeableFields}`)];
}

function fixedPart(object: KubeObject): unknown {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, ...spec } = mapAt(object, 'spec');
  const imageless = (list: string) => items(spec, list).map((container) => ({ ...(container as object), image: '' }));
  const fixed = { ...spec, containers: imageless('containers'), initContainers: imageless('initContainers') };
  return inKeyOrder(fixed);
}

function podErrors(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const containers = items(object, 'spec', 'containers');
  if (containers.length === 0) return [requiredValue('spec.containers')];
  const changes = old === undefined ? [] : changeErrors(object, old);
  const missing = containers.flatMap((container, index) => {
    const path = `spec.containers[${index}]`;
    return ['name', 'image']
      .filter((field) => text(container, field) === '')
      .map((field) => requiredValue(`${path}.${field}`));
  });
  return [...missing, ...changes];
}
