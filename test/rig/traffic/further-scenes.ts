// More scenes behind all other acts, as those of late-scenes.ts: each is the only reason for one thing that a daemon has to do. They have a chance of their
// own, so that they leave all scenarios without them as they are. In: a scenario. Out: the same one, or one with a scene.
import type { Chance } from '../play/random.ts';
import type { Act, At, Scenario } from './acts.ts';
import { exporting, object, service, withActs } from './late-scenes.ts';

const share = 0.35;
const wait = (ms: number): Act => ({ do: 'wait', ms });

/** The objects of the scenes have these names. Their versions make addresses that no configuration denies alone. */
const names = {
  moved: 'moved',
  ports: 'ports',
  ending: 'ending',
  strange: 'strange',
  unlabelled: 'unlabelled',
} as const;
export const furtherNames: readonly string[] = Object.values(names);

export function withFurtherScene(scenario: Scenario, chance: Chance): Scenario {
  if (!chance.isHit(share)) return scenario;
  const scene = chance.weigh<(scenario: Scenario, chance: Chance) => Scenario>([
    [scenario.kinds.includes('endpointslices') ? 3 : 0, moved],
    [2, ports],
    [2, ending],
    [scenario.isMapped ? 8 : 0, strange],
    [2, unlabelled],
  ]);
  return scene(scenario, chance);
}

/** A slice goes from one Service to another, and then the two go, or only seem to. */
function moved(scenario: Scenario, chance: Chance): Scenario {
  const [one, other] = [0, 1].map((nth): At => ({ namespace: 't1', name: `${names.moved}-${nth}` })) as [At, At];
  const at: At = { namespace: 't1', name: `${names.moved}-slice` };
  const behind = ({ name }: At, version: number): Act => {
    return { ...object(at, 'endpointslices', version), service: name } as Act;
  };
  const gone = (of: At): readonly Act[] => {
    const removed: Act = { do: 'remove', side: 'virtual', resource: 'services', at: of };
    return [chance.isHit(0.5) ? removed : { do: 'service', at: of, hasSelector: true, isCopied: false }, wait(3_000)];
  };
  const ends = [gone(one), ...(chance.isHit(0.7) ? [gone(other)] : [])];
  const acts = [service(one), service(other), behind(one, 9_500), wait(3_000), behind(other, 9_503), wait(3_000)];
  return withActs(scenario, [...acts, ...ends.flat()]);
}

/** Somebody on the host changes ports and nothing else, and so does the tenant. */
function ports(scenario: Scenario, chance: Chance): Scenario {
  const at: At = { namespace: 't1', name: names.ports };
  // The parts of a slice are mended one by one.
  const kind = chance.isHit(0.7) ? (scenario.kinds.at(-1) ?? 'endpoints') : chance.pick(scenario.kinds);
  const made = object(at, kind, 9_514);
  const changes: readonly Act[] = [
    { do: 'payload', resource: kind, at, of: 'ports' },
    { ...made, port: 8_443 },
  ];
  const some = chance.isHit(0.5) ? changes : [chance.pick(changes)];
  return withActs(scenario, [service(at), made, wait(3_000), ...some.flatMap((act) => [act, wait(3_000)])]);
}

/** A copy is going and stays for a while, because something on the host has to see its end; meanwhile the tenant goes on. */
function ending(scenario: Scenario, chance: Chance): Scenario {
  const at: At = { namespace: 't1', name: names.ending };
  const resource = chance.pick(scenario.kinds);
  const made = (version: number): Act => object(at, resource, version);
  const gone = (side: 'virtual' | 'host'): Act => ({ do: 'remove', side, resource, at });
  const held = (isSet: boolean): Act => ({ do: 'finalizer', resource, at, isSet });
  const changes = chance.pick<readonly Act[]>([
    [gone('host'), wait(1_000), made(9_521)],
    [gone('virtual'), wait(2_000), made(9_521)],
    [gone('host'), wait(1_000), gone('virtual')],
  ]);
  return withActs(scenario, [
    ...[service(at), made(9_520), wait(3_000), held(true), wait(1_000)],
    ...[...changes, wait(3_000), held(false), wait(4_000)],
  ]);
}

/** The host's people have a Service of the name, so that nothing may answer for it, and then it goes. */
function strange(scenario: Scenario, chance: Chance): Scenario {
  const at: At = { namespace: 't1', name: names.strange };
  const kind = chance.pick(scenario.kinds);
  const theirs = (exists: boolean): Act => ({ do: 'hostService', at, exists });
  const acts = [theirs(true), service(at, false), object(at, kind, 9_530), wait(3_000), theirs(false), wait(4_000)];
  return withActs(scenario, acts);
}

/** The host takes back that a tenant may import an object, which somebody names; sometimes it gives it again. */
function unlabelled(scenario: Scenario, chance: Chance): Scenario {
  const at: At = { namespace: 't1', name: names.unlabelled };
  const content = (isImportable: boolean): Act => ({
    ...{ do: 'content', side: 'host', resource: 'secrets', at, isImportable },
    value: 'content-9540',
  });
  const kind = chance.pick(scenario.kinds);
  const named: Act = { ...object(at, kind, 9_541), annotations: { 'example.com/secret': at.name } };
  const acts: Act[] = [
    ...[{ do: 'reload', configuration: scenario.configurations.length } as const, wait(2_000)],
    ...[content(true), service(at), named, wait(4_000), content(false), wait(4_000)],
    ...(chance.isHit(0.3) ? [content(true), wait(4_000)] : []),
  ];
  const configurations = [...scenario.configurations, exporting(scenario, true)];
  return withActs({ ...scenario, configurations }, acts);
}

const pagedShare = 0.1;

/** The lists of a whole run come in small pages, as those of large clusters do. */
export function withSmallPages(scenario: Scenario, chance: Chance): Scenario {
  return chance.isHit(pagedShare) ? { ...scenario, pageItems: chance.between(2, 3) } : scenario;
}
