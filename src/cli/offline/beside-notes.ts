// Names each rendered EndpointSlice that would stand on the host beside the rendered Endpoints of its Service: consumers take the
// addresses of both. In: the objects of the input and the rendered host objects. Out: one sentence for each such slice. Pure.
import { type KubeObject, keyOf } from '../../object/meta/object.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import { managedByLabel, mirroringController, serviceLabel } from '../../sync/kinds/endpointslices/eligibility.ts';
import { annotatedKeyOf } from '../../sync/plan/ownership.ts';

export function besideNotes(input: readonly KubeObject[], rendered: readonly KubeObject[]): string[] {
  const isEndpoints = ({ kind }: KubeObject): boolean => kind === endpointsKind.kind;
  const services = new Map(
    rendered.filter(isEndpoints).map((host) => [placeOf(host, host.metadata.name), annotatedKeyOf(host.metadata)]),
  );
  return rendered.flatMap((host) => {
    const service = isEndpoints(host) ? undefined : services.get(placeOf(host, host.metadata.labels?.[serviceLabel]));
    const slice = annotatedKeyOf(host.metadata);
    if (service === undefined || slice === undefined || isMirrored(input, { kind: host.kind, key: slice })) return [];
    return [`${host.kind} "${slice}" is published beside Endpoints "${service}": consumers take the addresses of both`];
  });
}

function placeOf({ metadata }: KubeObject, name = ''): string {
  return keyOf(metadata.namespace ?? '', name);
}

/** A mirrored slice holds the addresses of the Endpoints that it was made from. */
function isMirrored(input: readonly KubeObject[], of: { kind: string | undefined; key: string }): boolean {
  const virtual = input.find(
    ({ kind, metadata }) => kind === of.kind && keyOf(metadata.namespace ?? 'default', metadata.name ?? '') === of.key,
  );
  return virtual?.metadata.labels?.[managedByLabel] === mirroringController;
}
