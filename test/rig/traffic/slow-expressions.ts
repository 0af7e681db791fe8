// In a few scenarios each expression takes a while, so that news may come while a pass waits for one. A chance of its own leaves all others as they are.
import type { Chance } from '../play/random.ts';
import type { Act, Scenario } from './acts.ts';

const share = 0.06;
const takesMs = [20, 300];

export function withSlowExpressions(scenario: Scenario, chance: Chance): Scenario {
  if (!chance.isHit(share) || !scenario.configurations.every(mayFail)) return scenario;
  const sandboxMs = chance.pick(takesMs);
  const acts = [...scenario.acts];
  acts.splice(-1, 0, ...mendedMeanwhile(scenario, sandboxMs));
  return { ...scenario, acts, sandboxMs };
}

function mayFail(configuration: object): boolean {
  return JSON.stringify(configuration).includes('value === \\"boom\\" ? null.member : value');
}

/** An expression fails, and before it has said so the tenant has mended the object: nothing else will tell of it. */
function mendedMeanwhile({ kinds }: Scenario, sandboxMs: number): Act[] {
  const at = { namespace: 't1', name: 'mended' };
  const made = (note: string, version: number): Act => {
    const object = { at, version, labels: {}, annotations: { note } };
    return kinds.includes('endpoints')
      ? { do: 'endpoints', ...object }
      : { do: 'slice', service: at.name, type: 'IPv4', ...object };
  };
  return [
    { do: 'service', at, hasSelector: false, isCopied: true },
    made('fine', 9_001),
    { do: 'wait', ms: 3_000 },
    made('boom', 9_002),
    { do: 'wait', ms: sandboxMs / 2 },
    made('mended', 9_003),
    { do: 'wait', ms: 4_000 },
  ];
}
