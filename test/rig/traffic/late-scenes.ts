// Scenes behind all other acts but the last calm, for what chance alone brings together too seldom. They draw from a chance of their own, so that a
// new one leaves all scenarios without it as they are. In: a scenario. Out: the same one, or one with a scene and what it needs in the configurations.
import type { Chance } from '../play/random.ts';
import type { Act, At, Scenario, Synced } from './acts.ts';

const share = 0.35;
const wait = (ms: number): Act => ({ do: 'wait', ms });
export const service = (at: At, isCopied = true): Act => ({ do: 'service', at, hasSelector: false, isCopied });

/** The objects of the scenes have these names. */
export const lateNames = { unexported: 'unexported', burst: 'burst', crossing: 'crossing', shared: 'y-x-b' } as const;

export function withLateScene(scenario: Scenario, chance: Chance): Scenario {
  if (!chance.isHit(share)) return scenario;
  const scene = chance.weigh<(scenario: Scenario, chance: Chance) => Scenario>([
    // No copy of content goes while objects of a kind that is switched off may name it.
    [scenario.kinds.length > 1 ? 6 : 0, unexported],
    [2, burst],
    [3, crossing],
    [scenario.isMapped ? 0 : 3, sharedService],
  ]);
  return scene(scenario, chance);
}

/** Before the last chance of faults, so that they can strike here. What the scene did is judged before anything else can mend it. */
export function withActs(scenario: Scenario, added: readonly Act[]): Scenario {
  const at = scenario.acts.findLastIndex((act) => act.do === 'lastChance');
  const acts = [...scenario.acts];
  acts.splice(at, 0, ...added, { do: 'calm', isShort: true });
  return { ...scenario, acts };
}

interface Configuration {
  sync: { toHost: Record<'endpoints' | 'endpointSlices', { patches: { path: string }[] }> & { secrets: object } };
  hostward: object;
}

const reference = {
  path: 'metadata.annotations["example.com/secret"]',
  reference: { apiVersion: 'v1', kind: 'Secret' },
};

/** The first configuration with references, and with or without their export. */
export function exporting(scenario: Scenario, isExported: boolean): object {
  const changed = structuredClone(scenario.configurations[0]) as Configuration;
  const { toHost } = changed.sync;
  for (const kind of ['endpoints', 'endpointSlices'] as const)
    if (!toHost[kind].patches.some(({ path }) => path === reference.path)) toHost[kind].patches.push(reference);
  toHost.secrets = { enabled: isExported };
  return changed;
}

/** Content has copies, and then the operator switches their export off; sometimes on again. */
function unexported(scenario: Scenario, chance: Chance): Scenario {
  const at: At = { namespace: 't1', name: lateNames.unexported };
  const content = (name: string, value: number): Act => ({
    ...{ do: 'content', side: 'virtual', resource: 'secrets', at: { ...at, name }, isImportable: false },
    value: `content-${value}`,
  });
  const load = (nth: number): Act => ({ do: 'reload', configuration: scenario.configurations.length + nth });
  const names = [lateNames.unexported, `${lateNames.unexported}-too`];
  const referrers = names.map((name, nth): Act => {
    const more = { version: 9_101 + nth, labels: {}, annotations: { 'example.com/secret': name } };
    const own = { ...at, name };
    return nth === 0
      ? { do: 'endpoints', at: own, ...more }
      : { do: 'slice', at: own, service: name, type: 'IPv4', ...more };
  });
  const possible: readonly Act[] = [
    content(names[0] as string, 9_110),
    { do: 'edit', side: 'virtual', resource: 'endpoints', at, field: 'labels', key: 'app', value: 'one' },
    { do: chance.isHit(0.5) ? 'restart' : 'kill', daemon: 0 },
    { do: 'removeContent', side: 'virtual', resource: 'secrets', at: { ...at, name: names[1] as string } },
  ];
  const meanwhile = chance.isHit(0.5) ? [chance.pick(possible), wait(3_000)] : [];
  const downs: Act[] = chance.isHit(0.3)
    ? Array.from({ length: scenario.daemons }, (_, daemon): Act => ({ do: 'down', daemon, ms: 3_000 }))
    : [];
  const acts: Act[] = [
    ...[
      load(0),
      ...names.map((name) => service({ ...at, name })),
      ...names.map((name, nth) => content(name, 9_101 + nth)),
    ],
    ...[...referrers, wait(4_000), ...downs, load(1), wait(4_000), ...meanwhile],
    ...(chance.isHit(0.2) ? [load(0), wait(4_000)] : []),
  ];
  const configurations = [...scenario.configurations, exporting(scenario, true), exporting(scenario, false)];
  return withActs({ ...scenario, configurations }, acts);
}

/** Several objects change at once, and nothing else happens for longer than any outage lasts. */
function burst(scenario: Scenario, chance: Chance): Scenario {
  const objects = Array.from({ length: chance.between(2, 4) }, (_, nth) => ({
    at: { namespace: chance.pick(['t1', 't2']), name: `${lateNames.burst}-${nth}` },
    kind: chance.pick(scenario.kinds),
  }));
  const made = (from: number): Act[] => objects.map(({ at, kind }, nth) => object(at, kind, from + nth));
  const changes = made(9_216);
  const last = objects.at(-1);
  if (last !== undefined) changes.splice(-1, 1, { do: 'remove', side: 'virtual', resource: last.kind, at: last.at });
  const acts = [...objects.map(({ at }) => service(at)), ...made(9_200), wait(3_000), ...changes];
  return withActs(scenario, acts);
}

/** Both sides change neighbours within the time by which watches lag, so that an answer to a write overtakes news about another object. */
function crossing(scenario: Scenario, chance: Chance): Scenario {
  const watchLagMs = scenario.watchLagMs ?? chance.pick(lagsMs);
  const kind = chance.pick(scenario.kinds);
  const [changed, met, ...edited] = Array.from({ length: 5 }, (_, nth): At => {
    return { namespace: 't1', name: `${lateNames.crossing}-${nth}` };
  }) as [At, At, ...At[]];
  const all = [changed, met, ...edited];
  const acts = [...all.map((at) => service(at)), ...all.map((at, nth) => object(at, kind, 9_396 + nth)), wait(3_000)];
  const edits = (at: At): readonly Act[] => [
    { do: 'payload', resource: kind, at },
    { do: 'edit', side: 'host', resource: kind, at, field: 'labels', key: 'app', value: chance.pick(['one', 'two']) },
    { do: 'remove', side: 'host', resource: kind, at },
  ];
  // Each is edited once, because a later edit would tell of an earlier one that was lost.
  for (const [nth, at] of edited.entries()) {
    const pair = [object(changed, kind, 9_404 + 2 * nth), chance.pick(edits(at))];
    const [first, second] = (chance.isHit(0.7) ? pair : pair.reverse()) as [Act, Act];
    acts.push(first, wait(chance.between(1, watchLagMs)), second, wait(3_000));
  }
  // Both sides change one object: the write that follows the tenant's change knows nothing of the other one, and is refused.
  const value = chance.pick(['one', 'two']);
  const edit: Act = { do: 'edit', side: 'host', resource: kind, at: met, field: 'labels', key: 'app', value };
  acts.push(edit, wait(chance.whole(watchLagMs / 2)), object(met, kind, 9_412), wait(3_000));
  return withActs({ ...scenario, watchLagMs }, acts);
}

/** Two Services want one name of the host, so the daemon looks at their copies again and again; objects behind them change. */
function sharedService(scenario: Scenario, chance: Chance): Scenario {
  const ats: readonly [At, At] = [
    { namespace: 't1', name: lateNames.shared },
    { namespace: 'b-x-t1', name: 'y' },
  ];
  const [one, other] = (chance.isHit(0.5) ? ats : [...ats].reverse()) as [At, At];
  const [kind, second] = [chance.pick(scenario.kinds), chance.pick(scenario.kinds)];
  // Behind the last change nothing else happens, so that only its own next time leads on when it fails.
  const changes = [1, 2].slice(chance.whole(2)).flatMap((nth) => [wait(3_000), object(one, kind, 9_314 + nth)]);
  return withActs(scenario, [
    ...[service(one, false), object(one, kind, 9_300), wait(2_000)],
    ...[service(other, false), object(other, second, 9_301), wait(2_000), ...changes],
  ]);
}

export function object(at: At, kind: Synced, version: number): Extract<Act, { do: 'endpoints' | 'slice' }> {
  const made = { at, version, labels: {}, annotations: {} };
  return kind === 'endpoints' ? { do: 'endpoints', ...made } : { do: 'slice', service: at.name, type: 'IPv4', ...made };
}

const lagShare = 0.12;
const lagsMs = [30, 120];

/** Who writes then hears of its own write before it hears of what others did earlier. */
export function withWatchLag(scenario: Scenario, chance: Chance): Scenario {
  return chance.isHit(lagShare) ? { ...scenario, watchLagMs: chance.pick(lagsMs) } : scenario;
}

const farewellShare = 0.5;

/** Before the last calm two objects go, one on each side: nothing that follows tells of it, no act and no list. */
export function withFarewell(scenario: Scenario, chance: Chance): Scenario {
  const made = [...scenario.before, ...scenario.acts].flatMap((act) =>
    act.do === 'endpoints' || act.do === 'slice'
      ? [{ at: act.at, resource: act.do === 'slice' ? ('endpointslices' as const) : act.do }]
      : [],
  );
  if (made.length === 0 || !chance.isHit(farewellShare)) return scenario;
  const gone = (['virtual', 'host'] as const).map((side): Act => ({ do: 'remove', side, ...chance.pick(made) }));
  return { ...scenario, acts: [...scenario.acts.slice(0, -1), ...gone, ...scenario.acts.slice(-1)] };
}
