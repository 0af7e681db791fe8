import fc from 'fast-check';
import { load } from 'js-yaml';
import { afterEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../src/cli/command-line.ts';
import { textTable } from '../src/cli/line/text-table.ts';
import { toYaml } from '../src/cli/offline/yaml-text.ts';
import { statusText } from '../src/cli/running/status-text.ts';
import { junitXml } from '../src/cli/test.ts';
import { OperationsServer } from '../src/daemon/operations/operations-server.ts';
import { createLog, silentLog, textLine } from '../src/log.ts';
import { safeText, safeValue } from '../src/safe-text.ts';
import { endpointsKind } from '../src/sync/kinds/endpoints/endpoints-kind.ts';
import { createEventRecorder } from '../src/sync/loop/pass/event-recorder.ts';
import { scene } from './cli/scene.ts';
import { FakeWorld } from './sync/fake-sync.ts';

const hostile = 'a\u001b[2J\u009b31m\u202edlrow\u2066\u200b\u{e0041}\u3164\u034f\ufe00\u{e0100}';
/** The unsafe characters, written in another way than in the code under test. */
function unsafeIn(text: string): string[] {
  return [...text].filter((character) => {
    const code = character.codePointAt(0) as number;
    const isControl = (code < 0x20 && code !== 0x0a && code !== 0x09) || (code >= 0x7f && code < 0xa0);
    const isDirection =
      code === 0x61c || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || code === 0xfeff;
    const isBlank = [0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0].includes(code);
    const isVariation = (code >= 0xfe00 && code <= 0xfe0d) || (code >= 0x180b && code <= 0x180f);
    const isTag = code >= 0xe0000 && code <= 0xe0fff;
    return isControl || isDirection || isBlank || isVariation || isTag || (code >= 0x2060 && code <= 0x206f);
  });
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom(...hostile, '\n', '\t', '\r', '\\', '"', "'", 'x', '0', '1', ' ', ':', '\u2028', '\u0001'),
  }),
);

describe('safeText() and safeValue()', () => {
  it('leave ordinary text as it is, in every script', () => {
    for (const text of ['plain', 'Grüße, 世界, שלום, سلام, 한글', 'a\n\tb', '𝒳 🎉 ✔\ufe0f'])
      expect([safeText(text), safeValue('é')]).toEqual([text, 'é']);
  });

  it('make unsafe characters visible', () => {
    expect(safeText('\u001b[31m\n\u009b\u202e')).toBe('\\u001b[31m\n\\u009b\\u202e');
    expect(safeValue('one\ntwo\r\t')).toBe('one\\ntwo\\r\\t');
  });

  it('remove every unsafe character, and change their own result no further', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(unsafeIn(safeText(text))).toEqual([]);
        expect(unsafeIn(safeValue(text))).toEqual([]);
        expect(safeValue(text)).not.toMatch(/[\n\t]/);
        expect(safeText(safeText(text))).toBe(safeText(text));
      }),
    );
  });

  it('keep the meaning of JSON', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(safeText(JSON.stringify({ [text]: [text] }, undefined, 2)))).toEqual({ [text]: [text] });
      }),
    );
  });
});

describe('the output of foreign text', () => {
  it('is safe and keeps its meaning in YAML', () => {
    fc.assert(
      fc.property(anyText, fc.string(), (text, other) => {
        const value = { k: text, list: [{ [`k${text}`]: other }, `\\x01202e\\x01${other}`] };
        const printed = toYaml(value);
        expect(unsafeIn(printed)).toEqual([]);
        expect(load(printed)).toEqual(value);
      }),
    );
    expect(toYaml({ a: '\u202e', b: 'é' })).toBe('a: "\\u202e"\nb: é\n');
  });

  it('stays on its line in tables and status', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const table = textTable([{ title: 'A', shrinksTo: 12 }], [[text]]);
        expect(table).toHaveLength(2);
        expect(unsafeIn(table.join('\n'))).toEqual([]);
        const status = statusText({ [`k${text}`]: text, rows: [{ cell: text }], lines: [text] });
        expect(unsafeIn(status)).toEqual([]);
      }),
    );
  });

  it('is safe in the JUnit report, which XML can hold', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const problems = [{ what: text, text: `${text}\uffff\ufffe` }];
        const xml = junitXml([{ name: text, problems, tookMs: 1 } as never]);
        expect(unsafeIn(xml)).toEqual([]);
        expect(xml).not.toMatch(/[\ufffe\uffff]/);
      }),
    );
  });

  it('is safe and keeps its meaning in log lines', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let line = '';
        createLog({ level: 'info', destination: { write: (written) => (line += written) } }).info({ text }, text);
        expect(unsafeIn(line)).toEqual([]);
        expect(line.trimEnd()).not.toContain('\n');
        expect(JSON.parse(line)).toMatchObject({ text });
        const shown = textLine(line);
        expect(unsafeIn(safeText(shown))).toEqual([]);
      }),
    );
  });
});

describe('commands', () => {
  let server: OperationsServer | undefined;
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  const patches = `sync: {toHost: {endpoints: {patches: [{path: metadata.labels.a, expression: 'value + ${JSON.stringify(
    hostile,
  ).slice(1, -1)}'}]}}}\n`;
  const object = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'default', annotations: { a: hostile } },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80, name: hostile }] }],
  });
  const named = ['--vcluster-name', 'vc', '--host-namespace', 'n'];

  it.each([
    ['render as YAML', ['render', ...named, '-f', 'o.json']],
    ['render as JSON', ['render', ...named, '-f', 'o.json', '-o', 'json']],
    ['render as a difference', ['render', ...named, '-f', 'o.json', '-o', 'diff']],
    ['check', ['check', ...named, '-c', 'v.yaml']],
    ['check as JSON', ['check', ...named, '-c', 'v.yaml', '-o', 'json']],
    ['eval', ['eval', 'value', '--value', JSON.stringify(hostile)]],
    ['eval as JSON', ['eval', 'value', '--value', JSON.stringify(hostile), '-o', 'json']],
    ['eval of an expression that throws', ['eval', 'throw_(value)', '--value', JSON.stringify(hostile)]],
    ['a fault of usage', ['status', hostile]],
    ['an unknown command', [hostile]],
    ['a file that is not there', ['render', ...named, '-f', hostile]],
  ])('%s prints no control character of a tenant', async (_, argv) => {
    const on = scene({ files: { '/home/o.json': object, '/home/v.yaml': patches } });
    await runCommandLine(on.context, argv);
    expect(on.out() + on.err()).not.toBe('');
    expect(unsafeIn(on.out() + on.err())).toEqual([]);
  });

  it('status and the local port print no unsafe character', async () => {
    server = new OperationsServer(
      { host: '127.0.0.1', port: 0 },
      {
        health: () => ({ isHealthy: true, lines: [] }),
        readiness: () => ({ isReady: false, lines: [hostile], parts: [] }),
        metrics: async () => ({ contentType: 'text/plain', text: '' }),
        status: () => ({ trouble: [{ object: 'a/b', message: hostile }] }),
        objects: () => [],
        objectStatus: () => undefined,
      },
    );
    await server.start();
    const address = `127.0.0.1:${server.address.port}`;
    for (const path of ['/readyz', '/status'])
      expect(unsafeIn(await (await fetch(`http://${address}${path}`)).text())).toEqual([]);
    for (const form of [[], ['-o', 'json']]) {
      const on = scene();
      await runCommandLine(on.context, ['status', '--address', address, ...form]);
      expect(on.out()).toContain('\\u009b31m\\u202edlrow');
      expect(unsafeIn(on.out())).toEqual([]);
    }
  });

  it('events on the tenant’s objects hold no unsafe character', async () => {
    const world = new FakeWorld();
    const events = createEventRecorder({
      writer: world.virtual.writer(),
      kind: endpointsKind,
      clock: world.clock,
      log: silentLog,
      mayWrite: () => true,
      onOutcome: () => {},
    });
    events.record({ key: 'default/web', uid: 'u', type: 'Warning', reason: 'PatchFailed', message: `A\n${hostile}` });
    await world.clock.advance(0);
    const messages = world.virtual.list('events').map((event) => String(event['message']));
    expect(messages).toEqual([expect.stringMatching(/^A\\na\\u001b/)]);
    expect(unsafeIn(messages.join(''))).toEqual([]);
  });
});
