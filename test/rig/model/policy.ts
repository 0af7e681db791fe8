// Which virtual objects belong on the host (DESIGN 2, 3.2, 3.13, 3.14, 3.18), by the rules that look at one object and its Service.

import { isRefused } from './words/addresses.ts';
import type { History } from './words/history.ts';
import type { JsonMap } from './words/json.ts';
import { annotationsOf, below, isMap, keyOf, labelsOf, listBelow, objectKey, own } from './words/json.ts';
import { MANAGED_BY, SERVICE_NAME } from './words/marks.ts';
import { CONTROLLED_BY } from './words/names.ts';
import type { Settings } from './words/settings.ts';
import type { PlainObject } from './words/types.ts';

const MIRRORER = 'endpointslicemirroring-controller.k8s.io';
const SLICE_CONTROLLER = 'endpointslice-controller.k8s.io';

/** The Service that decides about an object: its namesake, or the one that the label of a slice names. */
export function serviceNameOf(virtual: PlainObject): string | undefined {
  if (virtual.kind === 'Endpoints') return virtual.metadata.name;
  const name = own(labelsOf(virtual), SERVICE_NAME);
  return name === '' ? undefined : name;
}

export const hasSelector = (service: PlainObject): boolean => {
  const selector = below(service, 'spec', 'selector');
  return isMap(selector) && Object.keys(selector).length > 0;
};

export function isExcluded(virtual: PlainObject): boolean {
  if ((own(labelsOf(virtual), CONTROLLED_BY) ?? '') !== '') return true;
  const annotation = own(annotationsOf(virtual), CONTROLLED_BY) ?? '';
  return annotation !== '' && annotation !== (virtual.kind === 'Endpoints' ? 'endpoints' : 'endpointslices');
}

/** Eligible but for what the patches make of it. `look` gives the state that people see at one moment. */
export function isWanted(
  virtual: PlainObject,
  look: (key: string) => PlainObject | undefined,
  settings: Settings,
): boolean {
  const { namespace } = virtual.metadata;
  const name = serviceNameOf(virtual);
  if (name === undefined || (namespace === 'default' && name === 'kubernetes')) return false;
  const service = look(keyOf('Service', namespace, name));
  if (service === undefined || hasSelector(service) || isExcluded(virtual)) return false;
  if (settings.naming.place(namespace, virtual.metadata.name) === undefined) return false;
  if (virtual.kind === 'Endpoints') return true;
  const manager = own(labelsOf(virtual), MANAGED_BY);
  if (manager === SLICE_CONTROLLER) return false;
  return manager !== MIRRORER || !settings.isOn.Endpoints || settings.isMirrored;
}

/** Whether an object has stood there for a while without a right to its copy, which then had to go. */
export function wasUnwanted(key: string, history: History, configurations: readonly Settings[]): boolean {
  const standing = new Map<string, PlainObject | undefined>();
  const look = (of: string): PlainObject | undefined =>
    standing.has(of) ? standing.get(of) : history.start('virtual', of);
  const turns = history.point.deeds.filter(({ side }) => side === 'virtual');
  return turns.some(({ before, after }) => {
    const changed = after ?? before;
    if (changed !== undefined) standing.set(objectKey(changed), after);
    const object = look(key);
    return object !== undefined && configurations.some((settings) => !isWanted(object, look, settings));
  });
}

export const isMirror = (virtual: PlainObject): boolean => own(labelsOf(virtual), MANAGED_BY) === MIRRORER;

/** True: one address of what would be written is refused, and with it the whole object. */
export function isRefusedPayload(kind: string, payload: JsonMap, settings: Settings): boolean {
  const refused = (address: unknown): boolean => typeof address === 'string' && isRefused(address, settings);
  if (kind === 'Endpoints') {
    return listBelow(payload, 'subsets').some((subset) =>
      [...listBelow(subset, 'addresses'), ...listBelow(subset, 'notReadyAddresses')].some((address) =>
        refused(below(address, 'ip')),
      ),
    );
  }
  if (payload['addressType'] === 'FQDN') return !settings.allowsNames;
  return listBelow(payload, 'endpoints').some((endpoint) => listBelow(endpoint, 'addresses').some(refused));
}

/** Native objects of Kubernetes at our name may become ours under these conditions only (DESIGN 3.4). */
export function mayTakeOver(virtual: PlainObject, host: PlainObject, history: History, settings: Settings): boolean {
  return isFreeBeside(history.last('host', serviceBeside(host)), virtual, settings);
}

/** Whether it might at a moment since the last calm point: the Service beside it may have changed meanwhile. */
export function mightTakeOver(virtual: PlainObject, host: PlainObject, history: History, settings: Settings): boolean {
  const key = serviceBeside(host);
  const isGoneForATime =
    history.start('host', key) === undefined || history.deedsOn('host', key).some(({ verb }) => verb === 'delete');
  const services = [...history.versions('host', key), ...(isGoneForATime ? [undefined] : [])];
  return services.some((service) => isFreeBeside(service, virtual, settings));
}

const serviceBeside = ({ metadata }: PlainObject): string => keyOf('Service', metadata.namespace, metadata.name);

function isFreeBeside(service: PlainObject | undefined, virtual: PlainObject, settings: Settings): boolean {
  if (virtual.kind !== 'Endpoints') return false;
  if (service === undefined) return !settings.naming.isMapped;
  const annotations = annotationsOf(service);
  return (
    !hasSelector(service) &&
    own(annotations, 'vcluster.loft.sh/object-name') === virtual.metadata.name &&
    own(annotations, 'vcluster.loft.sh/object-namespace') === virtual.metadata.namespace
  );
}
