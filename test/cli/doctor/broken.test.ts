// Breaks a sound set-up in one way after the other, as fixtures/doctor/broken.yaml says, and compares what doctor finds.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { AccessRule } from '../../../src/apiserver/request/access-rules.ts';
import { shippedRules } from '../../../src/cli/doctor/patient/shipped-rules.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { applyMergePatch } from '../../../src/object/patch/merge-patch.ts';
import { until } from '../../contract/sync-stage/backend.ts';
import { account, type DoctorRun, resourceOf, Stage, soundConfiguration, soundRules } from './stage.ts';

type Side = 'virtual' | 'host';

interface Case {
  name: string;
  configuration?: object;
  text?: string;
  /** The configuration is not there. */
  missing?: boolean;
  /** Options that the run goes without. */
  drop?: string[];
  delete?: { side: Side; kind: string; namespace: string; name: string }[];
  create?: { side: Side; object: KubeObject }[];
  /** A namespace that is deleted, and stays because of its finalizer. */
  terminate?: string;
  without?: Record<string, string[]>;
  with?: AccessRule[];
  kubeconfig?: Partial<
    Record<
      Side,
      {
        server?: string;
        token?: string;
        caOf?: Side;
        caFile?: string;
        sameAs?: Side;
        path?: string;
        userless?: boolean;
        /** It has insecure-skip-tls-verify: true. */
        insecure?: boolean;
        /** The user has neither token nor certificate. */
        nameless?: boolean;
        /** The user has a certificate without its key. */
        keyless?: boolean;
        /** It is the Secret that holds the kubeconfig, the text in that Secret, or a folder. */
        as?: 'secret' | 'base64' | 'folder';
      }
    >
  >;
  clock?: number;
  environment?: Record<string, string>;
  args?: string[];
  daemon?: unknown;
  answers?: { side: Side; resource: string; code: number }[];
  finds: Record<string, string>;
  unchecked?: string[];
  hidden?: string[];
  says?: string;
  saysNot?: string;
  /** Is part of what the report says to do. */
  mend?: string;
  mendNot?: string;
  /** Of the ServiceAccount in the pod. */
  podNamespace?: string;
  exit: number;
  /** What the daemon does with the same set-up. */
  run?: { ends?: number; ready?: boolean; says: string; log?: string; taken?: boolean };
}

const cases = parse(readFileSync(new URL('../../../fixtures/doctor/broken.yaml', import.meta.url), 'utf8')) as Case[];

const stage = new Stage();
const undo: (() => Promise<unknown>)[] = [];
beforeAll(() => stage.start());
afterAll(() => stage.stop());
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  stage.host.access.setRules(account, soundRules);
  stage.answers = [];
});

async function breakIt(one: Case): Promise<void> {
  for (const { side, kind, namespace, name } of one.delete ?? []) {
    const answer = await stage.client(side).get(resourceOf(kind), { namespace, name });
    if (answer.kind !== 'ok') throw new Error(`${kind} ${name} is not there`);
    const { metadata, status, ...rest } = answer.object;
    const { labels = {} } = metadata;
    await stage.client(side).remove(resourceOf(kind), { namespace, name });
    undo.push(() => stage.create(side, { ...rest, metadata: { namespace, name, labels } }));
  }
  for (const { side, object } of one.create ?? []) {
    const filled = JSON.parse(
      JSON.stringify(object).replace('"NOW"', `"${new Date().toISOString().replace('Z', '000Z')}"`),
    );
    await stage.create(side, filled);
    const { namespace = '', name = '' } = object.metadata;
    const resource = resourceOf(object.kind ?? '');
    undo.push(async () => {
      if (one.terminate === name)
        await stage.client(side).change(resource, { namespace, name }, { metadata: { finalizers: null } });
      await stage.client(side).remove(resource, { namespace, name });
    });
    if (one.terminate === name) await stage.client(side).remove(resource, { namespace, name });
  }
  const rules = soundRules.map((rule) => {
    const lost = one.without?.[rule.resources?.[0] ?? ''] ?? [];
    return { ...rule, verbs: rule.verbs.filter((verb) => !lost.includes(verb)) };
  });
  stage.host.access.setRules(account, [...rules, ...(one.with ?? [])]);
  stage.answers = one.answers ?? [];
}

async function kubeconfigs({ kubeconfig = {} }: Case): Promise<Partial<Record<Side, string>>> {
  const paths: Partial<Record<Side, string>> = {};
  for (const [side, change] of Object.entries(kubeconfig) as [Side, NonNullable<Case['kubeconfig']>[Side]][]) {
    if (change === undefined) continue;
    if (change.sameAs !== undefined) {
      paths[side] = stage.path(change.sameAs);
      continue;
    }
    const caOf = change.caOf ?? side;
    const file = parse(readFileSync(stage.path(side), 'utf8'));
    Object.assign(file.clusters[0].cluster, {
      'certificate-authority-data': Buffer.from(stage[caOf].caPem).toString('base64'),
      server: `${change.server ?? file.clusters[0].cluster.server}${change.path ?? ''}`,
    });
    if (change.caFile !== undefined) {
      delete file.clusters[0].cluster['certificate-authority-data'];
      file.clusters[0].cluster['certificate-authority'] = change.caFile;
    }
    if (change.insecure) file.clusters[0].cluster['insecure-skip-tls-verify'] = true;
    if (change.userless) file.users = [];
    if (change.nameless) file.users[0].user = {};
    if (change.keyless)
      file.users[0].user = { 'client-certificate-data': Buffer.from(stage[side].caPem).toString('base64') };
    if (change.token !== undefined) file.users[0].user.token = change.token;
    paths[side] = stage.path(`broken-${side}`);
    const text = JSON.stringify(file);
    const base64 = Buffer.from(text).toString('base64');
    const secret = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', data: { config: base64 } });
    const written = { secret, base64, folder: text, none: text }[change.as ?? 'none'];
    await writeFile(paths[side], written, { mode: 0o600 });
    if (change.as === 'folder') paths[side] = stage.folder;
  }
  return paths;
}

function clockAhead(seconds: number): Clock {
  const wallTime = () => new Date(Date.now() + seconds * 1000);
  return { now: () => systemClock.now(), after: (ms, run) => systemClock.after(ms, run), wallTime };
}

const plain = (value: unknown) => JSON.stringify(value).replaceAll('\\\\', '').replaceAll('\\"', '"');

/** One clear sentence in the log, and in the readiness as long as somebody can ask for it. */
async function daemonSays(
  { ends, ready, says, log = says, taken = false }: NonNullable<Case['run']>,
  args: readonly string[],
  run: DoctorRun,
): Promise<void> {
  const daemon = await stage.daemon(args, { ...run, isTaken: taken });
  try {
    if (ends !== undefined) {
      expect(await daemon.ended).toBe(ends);
      const last = daemon.logged().at(-1);
      expect(last).toMatchObject({ level: 'fatal', exitCode: ends });
      expect(plain([last?.['why'], last?.['faults']])).toContain(says);
    } else
      await until(`a log that says: ${log}, and readiness ${ready}: ${says}`, async () => {
        const { isReady, text } = await daemon.readiness();
        return isReady === ready && text.includes(says) && plain(daemon.logged()).includes(log) ? true : undefined;
      });
  } finally {
    await daemon.stop();
  }
}

describe('hostward doctor on a broken set-up', () => {
  it.each(cases)('$name', async (one) => {
    await breakIt(one);
    const run: DoctorRun = {
      configuration: applyMergePatch(soundConfiguration, (one.configuration ?? {}) as never),
      kubeconfigs: await kubeconfigs(one),
      drop: one.drop ?? [],
      ...(one.text !== undefined && { text: one.text }),
      ...(one.podNamespace !== undefined && { podNamespace: one.podNamespace }),
      ...(one.missing === true && { isMissing: true }),
      ...(one.clock !== undefined && { clock: clockAhead(one.clock) }),
      ...(one.environment && { environment: one.environment }),
      ...(one.daemon !== undefined && {
        fetch: async () => (typeof one.daemon === 'string' ? new Response(one.daemon) : Response.json(one.daemon)),
      }),
    };
    const { code, checks, hidden, of, err } = await stage.findings(one.args, run);
    expect(err).toBe('');
    const bad = checks.filter(({ verdict }) => verdict === 'fault' || verdict === 'warning');
    const found = Object.fromEntries(bad.map((check) => [check.code, check.verdict]));
    expect(found).toEqual(one.finds);
    for (const each of one.hidden ?? []) expect(hidden.map((entry) => entry.code)).toContain(each);
    for (const each of one.unchecked ?? []) expect(of(each)?.verdict, each).toBe('couldNotCheck');
    const said = bad.length > 0 ? bad : checks.filter(({ verdict }) => verdict !== 'ok');
    expect(JSON.stringify(said.map(({ says, details }) => [says, details])).replaceAll('\\"', '"')).toContain(
      one.says ?? '',
    );
    if (one.saysNot !== undefined) expect(JSON.stringify(bad)).not.toContain(one.saysNot);
    const notGood = checks.filter(({ verdict }) => verdict !== 'ok');
    for (const check of notGood) expect(check.mend, check.code).toBeTruthy();
    expect(notGood.map(({ mend }) => mend).join('\n')).toContain(one.mend ?? '');
    if (one.mendNot !== undefined) expect(notGood.map(({ mend }) => mend).join('\n')).not.toContain(one.mendNot);
    expect(code).toBe(one.exit);
    if (one.run !== undefined) await daemonSays(one.run, one.args ?? [], run);
  });

  it('asks for each right once in the namespace that is meant and once in its own', async () => {
    const wrong = cases.find(({ says }) => says?.includes('is that the namespace? Its pods')) as Case;
    await breakIt(wrong);
    let asked = 0;
    stage.heard = (side, method, path) => {
      if (side === 'host' && method === 'POST' && path.includes('selfsubjectaccessreviews')) asked++;
    };
    const configuration = applyMergePatch(soundConfiguration, (wrong.configuration ?? {}) as never);
    const { of } = await stage.findings(wrong.args, { configuration });
    stage.heard = () => {};
    expect(of('HW-502')?.says).toContain('Its pods are in vcluster-vc');
    const shipped = shippedRules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap(() => resources.flatMap(() => verbs)),
    );
    expect(asked).toBe(2 * shipped.length);
  });
});
