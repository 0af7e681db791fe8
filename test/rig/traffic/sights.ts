// What happened in a run, by the features that traffic draws from: a run of many seeds that has hardly seen one of them has tried nothing there.

import type { World } from '../play/world.ts';
import type { Written } from '../stage/replayed-store.ts';
import { type RigSide, registry } from '../stage/rig-cluster.ts';

const secret = 'example.com/secret';
const contents: readonly string[] = [registry.secrets, registry.configmaps];
const synced: readonly string[] = [registry.endpoints, registry.endpointslices];

const isOf = ({ key }: Written, places: readonly string[]): boolean =>
  places.some((place) => key.startsWith(`${place}/`));
const isDaemons = ({ by }: Written): boolean => by?.daemon !== undefined;
const annotation = (object: Written['after'], name: string): string | undefined => object?.metadata.annotations?.[name];

function written({ clusters }: World, side: RigSide): readonly Written[] {
  return clusters[side].store.written;
}

function imports(world: World): readonly Written[] {
  return written(world, 'virtual').filter(
    (one) => isDaemons(one) && isOf(one, contents) && annotation(one.after, 'hostward.dev/imported-from') !== undefined,
  );
}

function patchesOf(configuration: object): string {
  const { sync } = configuration as { sync?: { toHost?: Record<string, { patches?: unknown }> } };
  return JSON.stringify([sync?.toHost?.['endpoints']?.patches, sync?.toHost?.['endpointSlices']?.patches]);
}

const sights: Readonly<Record<string, (world: World) => boolean>> = {
  'both kinds': ({ scenario }) => scenario.kinds.length === 2,
  'mapped namespaces': ({ scenario }) => scenario.isMapped,
  'TLS with both clusters': ({ scenario }) => scenario.isTls === true,
  'two replicas': ({ scenario }) => scenario.daemons > 1,
  'patches changed by a reload': ({ configurations }) =>
    configurations.some(
      ({ configuration }, at) =>
        at > 0 && patchesOf(configuration) !== patchesOf(configurations[at - 1]?.configuration ?? {}),
    ),
  'a back-flow': (world) => written(world, 'virtual').some((one) => isDaemons(one) && isOf(one, synced)),
  'an object made anew under its name': (world) =>
    written(world, 'host').some(
      ({ before, after, ...one }) =>
        isDaemons({ before, after, ...one }) &&
        isOf({ before, after, ...one }, synced) &&
        annotation(before, 'vcluster.loft.sh/object-uid') !== undefined &&
        annotation(after, 'vcluster.loft.sh/object-uid') !== undefined &&
        annotation(before, 'vcluster.loft.sh/object-uid') !== annotation(after, 'vcluster.loft.sh/object-uid'),
    ),
  'Services that share a host name': (world) => {
    if (world.scenario.isMapped) return false;
    const keys = new Set(written(world, 'virtual').map(({ key }) => key));
    return ['t1/a-x-b', 'b-x-t1/a'].every((key) => keys.has(`${registry.services}/${key}`));
  },
  'an exported object': (world) => written(world, 'host').some((one) => isDaemons(one) && isOf(one, contents)),
  'an imported object': (world) => imports(world).length > 0,
  'an import behind a slice': (world) => {
    const slices = written(world, 'virtual').filter((one) => isOf(one, [registry.endpointslices]));
    return imports(world).some(({ after }) =>
      slices.some(
        (slice) =>
          slice.after?.metadata.namespace === after?.metadata.namespace &&
          annotation(slice.after, secret) === after?.metadata.name,
      ),
    );
  },
  'a reference set on the host': (world) =>
    written(world, 'host').some(
      (one) =>
        !isDaemons(one) &&
        isOf(one, synced) &&
        annotation(one.after, secret) !== undefined &&
        annotation(one.after, secret) !== annotation(one.before, secret),
    ),
};

export const sightNames: readonly string[] = Object.keys(sights);

export function sightsOf(world: World): readonly string[] {
  return sightNames.filter((name) => sights[name]?.(world) === true);
}
