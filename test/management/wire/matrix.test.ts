// A sample of the authorisation matrix as real requests over TLS: the answers of a running management API and of its
// self-reviews, compared cell by cell with the model of another hand.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { silentLog } from '../../../src/log.ts';
import { ManagementApi } from '../../../src/management/server/server.ts';
import type { MatrixCase, MatrixConfiguration, MatrixRequest } from '../matrix-case.ts';
import { cells } from '../model/cases/matrix-cases.ts';
import { Dice } from '../model/dice.ts';
import { modelReview, modelVerdict } from '../model/model.ts';
import { managementPath, type WireRequest } from './request-url.ts';
import { type KeyValues, seedFolder } from './seeded-folder.ts';
import { TlsClient } from './tls-client.ts';
import { outcomeOf, renamed, settingsOf, type WireCell } from './wire-cells.ts';

/** As in the matrix in process. */
const rounds = 9;
const seed = 1;
const sampled = Number(process.env['HOSTWARD_MATRIX_CELLS'] ?? 80);
/** More differences of one run say nothing new. */
const mostShown = 8;

/** In the order of the matrix, so that neighbours share a configuration. */
function sample(all: readonly WireCell[]): WireCell[] {
  const dice = new Dice(seed);
  const left = [...all.keys()];
  const taken: number[] = [];
  while (taken.length < sampled && left.length > 0) {
    const at = dice.below(left.length);
    taken.push(left[at] as number);
    left[at] = left.at(-1) as number;
    left.pop();
  }
  return taken.toSorted((a, b) => a - b).map((index) => all[index] as WireCell);
}

/** What a request asks for, as a review asks for it. */
function reviewOf(request: MatrixRequest): WireRequest {
  const path = `${managementPath}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`;
  if (!request.isResource) {
    const spec = { nonResourceAttributes: { path: request.path, verb: request.verb } };
    return { method: 'POST', path, body: { spec } };
  }
  const { verb, group, resource, subresource, namespace, name } = request;
  const resourceAttributes = { verb, group, version: 'v1', resource, subresource, namespace, name };
  return { method: 'POST', path, body: { spec: { resourceAttributes } } };
}

async function differencesOf(cell: WireCell, client: TlsClient, values: KeyValues): Promise<string[]> {
  const { of, wire, title } = cell;
  const key = values.get(of.caller);
  // HEAD is served as GET, and judged as GET.
  const asServed = of.request.verb === 'head' ? { ...of, request: { ...of.request, verb: 'get' } } : of;
  const { answer, because } = modelVerdict(asServed as MatrixCase);
  const found: string[] = [];
  const note = (what: string, wanted: unknown, got: unknown) => {
    if (JSON.stringify(wanted) === JSON.stringify(got)) return;
    found.push(
      `${title}\n${what}: model ${JSON.stringify(wanted)} because ${because.join('; ')}, server ${JSON.stringify(got)}` +
        `\n${wire.method} ${wire.path}\n${JSON.stringify({ request: of.request, keys: of.keys })}`,
    );
  };
  const review = await client.ask(key, reviewOf(of.request));
  const allowed = review.body['status']?.['allowed'] as unknown;
  const answered = await client.ask(key, wire);
  // What the caller must hold for a new value stands in the key itself, which the model does not read: review and request agree then.
  const isHandedOver = wire.path.includes('/rotate') && answered.code === 403;
  const wanted = isHandedOver && modelReview(of) === 'yes' ? 'no' : modelReview(of);
  note('review', wanted, review.code === 401 ? 'dead' : allowed === true ? 'yes' : 'no');
  const sees: string[] = [];
  for (const { name } of of.keys) {
    const { code } = await client.ask(key, {
      method: 'GET',
      path: `${managementPath}/apis/management.platform/v1/ownedaccesskeys/${name}`,
    });
    if (code !== 401 && code !== 404) sees.push(name);
  }
  note('sees', answer.sees, sees.toSorted());
  note('request', answer.allowed ? 'allowed' : 'refused', outcomeOf(answered));
  return found;
}

describe('the authorisation matrix over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-matrix-'));
  // To the second, so that a key whose end is this very moment is asked at this very moment.
  const nowMs = Math.floor(systemClock.wallTime().getTime() / 1000) * 1000;
  const clock: Clock = { ...systemClock, wallTime: () => new Date(nowMs) };
  let chosen: WireCell[];
  let values: KeyValues;
  let api: ManagementApi;
  let client: TlsClient;

  beforeAll(async () => {
    const all = [...cells(rounds, seed)].flatMap((cell) => renamed(cell) ?? []);
    chosen = sample(all);
    values = await seedFolder(
      folder,
      chosen.map(({ of }) => of),
      { clock, nowMs },
    );
    const server = { listen: '127.0.0.1:0', baseURL: 'https://localhost', dataDir: folder, ingressListen: undefined };
    const settings = settingsOf((chosen[0] as WireCell).of.configuration);
    api = new ManagementApi({ settings, server, clock, log: silentLog, version: '0.1.0' });
    await api.open();
    await api.serve();
    client = new TlsClient(api.port, api.caPem);
  }, 120_000);

  afterAll(async () => {
    client?.close();
    await api?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Cells of one configuration are asked side by side. */
  async function differences(of: readonly WireCell[], changed = (it: MatrixConfiguration) => it): Promise<string[]> {
    const different: string[] = [];
    for (const configuration of new Set(of.map((cell) => cell.of.configuration))) {
      await api.apply(settingsOf(changed(configuration)));
      const group = of.filter((cell) => cell.of.configuration === configuration);
      different.push(...(await Promise.all(group.map((cell) => differencesOf(cell, client, values)))).flat());
    }
    return different;
  }

  it(`answers ${sampled} cells as the model does, and so do its self-reviews`, async () => {
    expect(chosen).toHaveLength(sampled);
    const different = await differences(chosen);
    expect(different.slice(0, mostShown).join('\n\n')).toBe('');
    expect(different).toHaveLength(0);
  }, 600_000);

  it('would notice a server that knows no members of projects', async () => {
    const some = chosen.filter(({ of }) => of.request.isResource && of.request.resource === 'virtualclusterinstances');
    const without = (it: MatrixConfiguration) => ({
      ...it,
      projects: it.projects.map((project) => ({ ...project, members: [] })),
    });
    const different = await differences(some.slice(0, 200), without);
    expect(different.some((text) => text.includes('review: model "yes"'))).toBe(true);
    expect(different.some((text) => text.includes('request: model "allowed"'))).toBe(true);
  });

  it('has cells of every verb, and enough of each answer', () => {
    const verbs = new Set(chosen.map(({ of }) => of.request.verb));
    for (const verb of ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'head'])
      expect(verbs).toContain(verb);
    const allowed = chosen.filter(({ of }) => modelVerdict(of).answer.allowed).length;
    expect(allowed).toBeGreaterThan(sampled / 10);
    expect(allowed).toBeLessThan(sampled * 0.9);
  });
});
