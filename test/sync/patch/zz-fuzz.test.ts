import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PatchEntry } from '../../../src/config/settings.ts';
import { createRules } from '../../../src/sync/rules.ts';
import { defaultSettings, edit, PaperWorld, putPair } from '../paper-sync.ts';
import { entry, openTestPatcher } from './paper-patch.ts';

const keys = ['a', 'b', 'c'];
const modes = ['none', 'Q', 'R', 'F', 'G', 'M', 'MQ', 'N'] as const;
type Mode = (typeof modes)[number];
const fwd = (m: Mode, v: string | undefined): string | undefined =>
  m === 'N' ? undefined : m === 'M' ? (v === undefined ? 'M' : `M${v}`) : m === 'MQ' ? `Q${v ?? 'z'}` : v === undefined ? undefined : m === 'none' ? v : `${m}${v}`;
const two = (m: Mode) => m === 'Q' || m === 'R' || m === 'MQ';
function entries(config: Mode[], whole: 'none' | 'whole' | 'star' | 'empty'): PatchEntry[] {
  const out: PatchEntry[] = [];
  for (const map of ['annotations', 'labels'])
    config.forEach((m, i) => {
      const path = `metadata.${map}["${keys[i]}"]`;
      if (m === 'Q' || m === 'R') out.push(entry({ path, expression: `"${m}" + value`, reverseExpression: `value.startsWith("${m}") ? value.slice(1) : value` }));
      if (m === 'MQ') out.push(entry({ path, onMissing: 'create', expression: `valueExists ? "Q" + value : "Qz"`, reverseExpression: `value.startsWith("Q") ? value.slice(1) : value` }));
      if (m === 'F' || m === 'G') out.push(entry({ path, expression: `"${m}" + value` }));
      if (m === 'M') out.push(entry({ path, onMissing: 'create', expression: 'valueExists ? "M" + value : "M"' }));
      if (m === 'N') out.push(entry({ path, expression: 'null' }));
    });
  if (whole === 'whole') out.push(entry({ path: 'metadata.annotations', expression: '({...value, w: "W"})' }));
  if (whole === 'star') out.push(entry({ path: 'metadata.annotations.*', expression: 'context.path.endsWith(".d") ? "S" + value : value', reverseExpression: 'context.path.endsWith(".d") && value.startsWith("S") ? value.slice(1) : value' }));
  if (whole === 'empty') out.push(entry({ path: '', expression: '(value.metadata.annotations["w"] = "E" + (value.metadata.annotations["d"] || ""), value)' }));
  return out;
}
const cfgs = fc.record({ config: fc.tuple(...keys.map(() => fc.constantFrom(...modes))), whole: fc.constantFrom('none' as const, 'whole' as const, 'star' as const, 'empty' as const) });
const val = fc.constantFrom('x', 'y', 'z');
const key = fc.constantFrom(...keys, 'd', 'w');
const map = fc.constantFrom('annotations' as const, 'labels' as const);
const ops = fc.array(fc.oneof(
  { weight: 5, arbitrary: fc.record({ k: fc.constant('v' as const), map, key, val: fc.option(val) }) },
  { weight: 5, arbitrary: fc.record({ k: fc.constant('h' as const), map, key, val: fc.option(val) }) },
  { weight: 3, arbitrary: fc.record({ k: fc.constant('cfg' as const), to: cfgs, live: fc.boolean(), during: fc.array(fc.record({ side: fc.constantFrom('v' as const, 'h' as const), map, key, val: fc.option(val) }), { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.constantFrom({ k: 'restart' as const }, { k: 'lose' as const }) },
), { minLength: 1, maxLength: 9 });

it('fuzz', async () => {
  await fc.assert(fc.asyncProperty(cfgs, ops, fc.boolean(), async (first, all, calm) => {
    let now = first;
    const world = new PaperWorld({ patches: entries([...now.config], now.whole) });
    putPair(world, 'web', '10.0.0.1', { labels: { a: 'x' }, annotations: { a: 'x', b: 'y', d: 'x' } });
    await world.run();
    const tenant = () => world.virtual.get('endpoints', 'default', 'web');
    const put = (side: 'v' | 'h', m: 'annotations' | 'labels', k: string, v: string | null) => {
      const o = side === 'v' ? tenant() : world.copy('web');
      if (!o) return;
      edit(side === 'v' ? world.virtual : world.host, o, (d) => { const all = { ...d.metadata[m] }; if (v === null) delete all[k]; else all[k] = v; d.metadata[m] = all; });
    };
    const hostForm = (m: string, k: string, v: string | null): string | null => {
      if (v === null) return null;
      const mode = now.config[keys.indexOf(k)] ?? 'none';
      if (k === 'd' && now.whole === 'star' && m === 'annotations') return `S${v}`;
      if (mode === 'N') return v;
      if (!two(mode) && (tenant()?.metadata[m as 'labels'] ?? {})[k] === undefined) return v;
      return fwd(mode, v) ?? null;
    };
    const noUpper = () => { for (const m of ['annotations', 'labels'] as const) for (const [k, v] of Object.entries(tenant()?.metadata[m] ?? {})) if (/[A-Z]/.test(v)) throw new Error(`leaked ${m} ${k}=${v}`); };
    try {
      for (const op of all) {
        if (op.k === 'v') put('v', op.map, op.key, op.val);
        if (op.k === 'h') {
          // raw edits of keys that only exist transformed are theirs
          put('h', op.map, op.key, hostForm(op.map, op.key, op.val));
        }
        if (op.k === 'lose') world.host.remove('endpoints', 'vcluster-vc', 'web-x-default-x-vc');
        if (op.k === 'restart') await world.restart();
        if (op.k === 'cfg') {
          await world.quiet(); await world.clock.advance(3000); await world.quiet();
          const present = new Set(['annotations', 'labels'].flatMap((m) => Object.keys(world.copy('web')?.metadata[m as 'labels'] ?? {}).map((k) => `${m} ${k}`)));
          await world.stop();
          for (const d of op.during) if (d.side === 'v' || present.has(`${d.map} ${d.key}`)) put(d.side, d.map, d.key, d.side === 'v' ? d.val : hostForm(d.map, d.key, d.val));
          now = op.to;
          world.options = { patches: entries([...now.config], now.whole) };
          await world.run();
        }
        if (calm) { await world.quiet(); noUpper(); }
      }
      await world.quiet(); await world.clock.advance(20_000); await world.quiet();
      noUpper();
      const V = tenant()!, Hh = world.copy('web')!;
      for (const m of ['annotations', 'labels'] as const) keys.forEach((k, i) => {
        const mode = now.config[i]!;
        const v = V.metadata[m]?.[k]; const h = Hh.metadata[m]?.[k]; const want = fwd(mode, v);
        if (v === undefined && want === undefined) { if (h !== undefined && /[A-Z]/.test(h)) throw new Error(`left ${m} ${k}=${h} mode ${mode}`); return; }
        if (h !== want) throw new Error(`differs ${m} ${k} v=${v} h=${h} want=${want} mode ${mode}`);
      });
      const n = world.virtual.writes.length + world.host.writes.length;
      await world.clock.advance(120_000); await world.quiet(); await world.restart();
      expect(world.virtual.writes.length + world.host.writes.length).toBe(n);
    } finally { await world.stop(); }
  }), { numRuns: Number(process.env.RUNS ?? 300), seed: Number(process.env.SEED ?? 1) });
}, 250_000);
void openTestPatcher; void createRules; void defaultSettings;
