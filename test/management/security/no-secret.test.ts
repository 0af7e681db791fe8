// A random run with planted secrets in every place where a client can put one, right or wrong. Afterwards no secret is in the
// log, the audit log, the watch events, the metrics, the answers or the database; a new value is in its one answer alone.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { Dice } from '../model/dice.ts';
import { type Answer, type Ask, type Bench, keysPath, openBench, type Stream } from '../server/bench.ts';

const steps = Number(process.env['HOSTWARD_SECRET_STEPS'] ?? 400);
const metrics = createMetrics();
const lines: string[] = [];
let bench: Bench;
let watch: Stream;
/** What nobody may find. */
const secrets: string[] = [];
/** Values that the server made; each may be in the answer that made it. */
const made = new Map<string, Answer>();
const answers: { answer: Answer; asked: string }[] = [];

beforeAll(async () => {
  const log = createLog({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
  bench = await openBench({
    log,
    metrics,
    settings: {
      keys: { maxTTL: 0, requireExpiry: false, allowSupplied: true, perOwner: 10_000 },
      audit: { reads: true, keepFiles: 100 },
    },
  });
  secrets.push(bench.admin);
  watch = await bench.follow(`${keysPath}?watch=true`, bench.admin);
});
afterAll(async () => {
  watch.stop();
  await bench.stop();
});

let count = 0;
/** At least twelve different characters, so that the server takes it for a key; found again whatever is around it. */
function secret(): string {
  const text = `Zq7-secret.${String(count++).padStart(6, '0')}-abcdefghijklmnop`;
  secrets.push(text);
  return text;
}

async function ask(method: string, path: string, how: Ask = {}): Promise<Answer> {
  const answer = await bench.ask(method, path, how);
  answers.push({ answer, asked: `${method} ${path} ${JSON.stringify(how).slice(0, 200)}` });
  const value = answer.body['spec']?.['key'] ?? answer.body['status']?.['key'];
  if (answer.code === 201 && typeof value === 'string') {
    made.set(value, answer);
    secrets.push(value);
  }
  return answer;
}

const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const apply = 'application/apply-patch+yaml';

function hidden(): object {
  return {
    identity: { username: 'a', connectorData: secret(), groups: ['g'] },
    oidcLogin: { idToken: secret(), accessToken: secret(), refreshToken: secret() },
  };
}

function manifest(name: string, spec: object): object {
  return { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata: { name }, spec };
}

type Step = (name: string, dice: Dice) => Promise<unknown>;

const moves: readonly Step[] = [
  (name) =>
    ask('POST', keysPath, { body: { metadata: { name }, spec: { user: 'alice', key: secret(), ...hidden() } } }),
  (name) => ask('POST', keysPath, { body: { metadata: { name }, spec: { user: 'alice', ...hidden() } } }),
  (name) => {
    const annotations = {
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(
        manifest(name, { key: secret(), ...hidden() }),
      ),
    };
    return ask('PATCH', `${keysPath}/${name}`, { type: merge, body: { metadata: { annotations } } });
  },
  (name) => ask('PATCH', `${keysPath}/${name}`, { type: merge, body: { spec: hidden() } }),
  (name) =>
    ask('PATCH', `${keysPath}/${name}?fieldManager=m&force=true`, { type: apply, body: manifest(name, hidden()) }),
  (name) =>
    ask('PATCH', `${keysPath}/${name}?fieldManager=n`, {
      type: apply,
      body: manifest(name, { ...hidden(), key: secret() }),
    }),
  (name) =>
    ask('PATCH', `${keysPath}/${name}`, {
      type: jsonPatch,
      body: [{ op: 'test', path: '/spec/key', value: secret() }],
    }),
  (name, dice) => {
    const from = dice.pick([
      '/spec/key',
      '/spec/identity/connectorData',
      '/spec/oidcLogin/idToken',
      '/spec/identity',
      '/spec',
    ]);
    const op = dice.pick(['copy', 'move']);
    const path = dice.pick([
      '/spec/description',
      '/metadata/annotations',
      '/metadata/labels/a',
      '/spec/identity/extraClaims',
    ]);
    return ask('PATCH', `${keysPath}/${name}`, { type: jsonPatch, body: [{ op, from, path }] });
  },
  (name) => ask('PUT', `${keysPath}/${name}`, { body: manifest(name, { user: 'alice', ...hidden(), key: secret() }) }),
  // Secrets in wrong places and of wrong types.
  (name) => ask('POST', keysPath, { body: { metadata: { name }, spec: { user: 'alice', key: { value: secret() } } } }),
  (name) => ask('POST', keysPath, { body: { metadata: { name }, spec: { user: 'alice', key: [secret()] } } }),
  (name) => ask('POST', keysPath, { body: { metadata: { name }, spec: { identity: { connectorData: [secret()] } } } }),
  (name) => ask('POST', keysPath, { body: { metadata: { name }, spec: { identity: secret(), oidcLogin: secret() } } }),
  (name) => ask('POST', keysPath, { body: { metadata: { name }, spec: secret() } }),
  (name) =>
    ask('POST', keysPath, {
      body: `{"metadata":{"name":"${name}"},"spec":{"key":"${secret()}"`,
      type: 'application/json',
    }),
  (name) => ask('POST', keysPath, { body: `{"spec":{"key":"${secret()}",}}${name}`, type: 'application/json' }),
  (name) =>
    ask('POST', keysPath, { body: `spec:\n  name: ${name}\n  key: ${secret()}\n bad: [`, type: 'application/yaml' }),
  (name) => ask('PATCH', `${keysPath}/${name}`, { type: merge, body: `{"spec":{"key":"${secret()}"` }),
  (name) =>
    ask('PATCH', `${keysPath}/${name}`, {
      type: jsonPatch,
      body: `[{"op":"replace","path":"/spec/key","value":"${secret()}"}}`,
    }),
  (name) =>
    ask('PATCH', `${keysPath}/${name}?fieldManager=m`, { type: apply, body: `spec: {key: "${secret()}"\n${name}` }),
  // Too short, too long or too simple to be a key.
  (name) =>
    ask('POST', keysPath, { body: { metadata: { name }, spec: { user: 'alice', key: `${secret()} with blanks` } } }),
  (name) => ask('POST', keysPath, { body: { metadata: { name }, spec: { user: 'alice', key: secret().repeat(20) } } }),
  // In credentials and in queries.
  () => ask('GET', keysPath, { key: secret() }),
  () => ask('GET', keysPath, { key: `mpk_${secret()}` }),
  () => ask('GET', `${keysPath}?access_token=${secret()}&token=${secret()}`),
  () => ask('GET', `${keysPath}?fieldSelector=spec.key%3D${secret()}`),
  () => ask('GET', `${keysPath}?labelSelector=${secret()}%20in`),
  () => ask('GET', `${keysPath}?continue=${secret()}`),
  () => ask('GET', `${keysPath}?resourceVersion=${secret()}`),
  // Values that the server makes.
  (name) => ask('POST', keysPath, { body: { metadata: { generateName: `${name}-` }, spec: { user: 'bob' } } }),
  (name) => ask('POST', `${keysPath}/${name}/rotate`, { body: { spec: { overlapSeconds: 60 } } }),
  (name) => ask('POST', `${keysPath}/${name}/rotate?dryRun=All`, { body: { spec: {} } }),
  (name) => ask('GET', `${keysPath}/${name}`),
  () => ask('GET', keysPath, { headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' } }),
  () => ask('GET', keysPath, { headers: { accept: 'application/yaml' } }),
  (name) => ask('DELETE', `${keysPath}/${name}`),
  (name) => ask('GET', `${keysPath}/${name}`, { key: [...made.keys()].at(-1) }),
];

function found(text: string): string[] {
  const plain = secrets.filter((value) => text.includes(value));
  // A value in base64 or percent-encoded is no better hidden.
  return plain.length > 0
    ? plain
    : secrets.filter((value) => text.includes(Buffer.from(value).toString('base64').slice(0, -4)));
}

describe('after a random run', () => {
  beforeAll(async () => {
    const dice = new Dice(11);
    for (let step = 0; step < steps; step++) {
      const move = step < moves.length ? moves[step] : dice.pick(moves);
      await move?.(`k${dice.below(12)}`, dice);
    }
  }, 120_000);

  it('did what was to be done', () => {
    const codes = new Set(answers.map(({ answer }) => answer.code));
    for (const code of [200, 201, 400, 401, 404, 409, 422]) expect(codes).toContain(code);
    expect([...codes].filter((code) => code >= 500)).toEqual([]);
    expect(made.size).toBeGreaterThan(steps / 50);
    expect(watch.events.length).toBeGreaterThan(steps / 20);
  });

  it('no secret is in an answer but the one that made it', () => {
    const bad = answers.flatMap(({ answer, asked }) => {
      const text = JSON.stringify([answer.text, answer.headers]);
      // The answer to a wrong parameter quotes the parameter, and nothing else of a request.
      const leaked = found(text).filter(
        (value) => made.get(value) !== answer && !asked.includes(`resourceVersion=${value}`),
      );
      return leaked.map((value) => `${asked} → ${answer.code} ${text.slice(0, 400)}: ${value}`);
    });
    expect(bad.slice(0, 5)).toEqual([]);
    // What a digest belongs to is no secret, and still no business of a client.
    const digests = answers.filter(({ answer }) => /"(?:hidden|sealed|grantedGroups)":|"digest":"/.test(answer.text));
    expect(digests.map(({ asked, answer }) => `${asked} → ${answer.text.slice(0, 400)}`).slice(0, 5)).toEqual([]);
  });

  it('no secret is in the log, the watch events or the metrics', async () => {
    expect(lines.length).toBeGreaterThan(0);
    expect(found(lines.join(''))).toEqual([]);
    expect(found(JSON.stringify(watch.events))).toEqual([]);
    expect(found(await metrics.metrics())).toEqual([]);
    expect(found(JSON.stringify(bench.api.status()))).toEqual([]);
  });

  it('no secret is in the audit log, the database or any other file of the folder', async () => {
    const files = readdirSync(bench.folder, { recursive: true }).map(String);
    expect(files).toEqual(expect.arrayContaining(['audit.log', 'keys.db']));
    for (const file of files) {
      const path = join(bench.folder, file);
      if (statSync(path).isFile()) expect([file, found(readFileSync(path).toString('latin1'))]).toEqual([file, []]);
    }
  });

  it('would have found one', () => {
    expect(found(`…${secrets.at(-1)}…`)).not.toEqual([]);
    expect(found(Buffer.from(`${secrets.at(3)} `).toString('base64'))).not.toEqual([]);
  });
});

describe('JSON patches on hidden fields', () => {
  it('copy and move none out, and test tells nothing about one', async () => {
    const value = secret();
    const body = {
      metadata: { name: 'patched' },
      spec: { user: 'alice', key: value, identity: { connectorData: value } },
    };
    expect(await bench.ask('POST', keysPath, { body })).toMatchObject({ code: 201 });
    const patch = (operations: object[]) =>
      bench.ask('PATCH', `${keysPath}/patched`, { type: jsonPatch, body: operations });
    for (const path of ['/spec/key', '/spec/identity/connectorData']) {
      for (const op of ['copy', 'move'])
        expect((await patch([{ op, from: path, path: '/spec/description' }])).text).not.toContain(value);
      const right = await patch([{ op: 'test', path, value }]);
      const wrong = await patch([{ op: 'test', path, value: 'something else' }]);
      // The right value and a wrong one are answered alike.
      expect([right.code, right.text]).toEqual([wrong.code, wrong.text]);
      expect(right.code).toBe(422);
    }
    expect((await bench.ask('GET', `${keysPath}/patched`)).text).not.toContain(value);
    expect(await bench.ask('GET', keysPath, { key: value })).toMatchObject({ code: 200 });
  });
});
