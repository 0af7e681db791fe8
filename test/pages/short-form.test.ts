import { describe, expect, it } from 'vitest';
import { shortText } from '../../src/cli/running/short-text.ts';
import { statusMain } from '../../src/pages/status/status-page.ts';
import { attentionOf } from '../../src/sync/report/attention/attention.ts';
import type { StatusJson } from '../../src/sync/report/words.ts';
import { textOf } from './fields.ts';
import { cases, failing, rightless, type ToldVerdict } from './status-cases.ts';

describe('the short form of `hostward status`', () => {
  const trouble = Array.from({ length: 500 }, (_, at) => ({
    object: `shop/object-${at}`,
    state: 'refused/NotOwned',
    message: `an object that is not ours has its host name object-${at}-x-shop-x-demo, which is rather long`,
  }));

  it.each([
    ['well', cases.find(([name]) => name === 'well')?.[1] as StatusJson, 80],
    ['failing', failing, 80],
    ['failing, narrow', failing, 40],
    ['rightless', rightless, 80],
    ['rightless, narrow', rightless, 40],
    ['failing, into a file', failing, undefined],
    ['with 500 refused objects', { ...failing, trouble }, 80],
    [
      'with a verdict that never ends',
      { ...failing, verdict: { isWell: false, sentence: 'cannot reach the host; '.repeat(200) } },
      80,
    ],
  ])('fits a terminal of 24 lines and ends with the verdict: %s', (_, status, columns) => {
    const lines = shortText(status, columns).trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(23);
    const { sentence, since, parts = [{ part: sentence, since }] } = status['verdict'] as ToldVerdict;
    const gap = lines.lastIndexOf('');
    const told = lines
      .slice(gap + 1)
      .join(' ')
      .replace(' …', '');
    const texts = parts.map(({ part, since }) => {
      return since === undefined || part.includes(since) ? part : `${part} (since ${since})`;
    });
    // A part that is cut has its beginning and its end, and parts that do not fit are counted.
    const isTold = (line: string) =>
      /^… and \d+ more$/.test(line) || line.split('…').every((piece) => texts.some((text) => text.includes(piece)));
    expect(texts.join('; ').startsWith(told) || lines.slice(gap + 1).every(isTold)).toBe(true);
    if (columns === undefined) return;
    const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
    expect(rows).toBeLessThanOrEqual(23);
    // Only a command is longer than the screen, because a command that is cut off cannot be copied.
    const commands = attentionOf(status).map(({ command }) => `  ${command}`);
    for (const line of lines)
      expect(line.length <= columns || commands.includes(line) || line.endsWith(' tells the rest')).toBe(true);
  });

  it('shows all that one command mends in the lines of a terminal, and the command once', () => {
    const lines = shortText(rightless, 80).trimEnd().split('\n');
    const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0);
    expect(rows).toBeLessThanOrEqual(23);
    const heads = lines.filter((line) => line.startsWith('! ')).map((line) => line.replace(/:.*/, ''));
    expect(heads.slice(0, 6)).toEqual([
      '! virtual cluster (unwritable)',
      '! host cluster (unwritable)',
      '! 2 things (MissingVerbs), such as permissions',
      '! shop/api (Forbidden)',
      '! Secret shop/tls (Forbidden)',
      '! ConfigMap shop/routes (Forbidden)',
    ]);
    const denied = [0, 1, 2].map((at) => ({ ...rightless.trouble[0], object: `shop/api-${at}` }));
    expect(shortText({ ...rightless, trouble: denied }, 80)).toMatch(
      /! 3 objects \(Forbidden\), such as shop\/api-0: .*\n! Secret/,
    );
    const doctor = attentionOf(rightless)[0]?.command;
    expect(lines.filter((line) => line === `  ${doctor}`)).toHaveLength(1);
    for (const reason of ['NotOwned', 'AddressRefused']) expect(lines.join('\n')).toContain(reason);
  });

  it('tells of the writes of a dry run in one line, however many kinds', () => {
    const write = { object: 'shop/api', request: 'host create', touches: '' };
    const well = cases.find(([name]) => name === 'well')?.[1];
    const status = { ...well, differences: [write], endpointSlices: { objects: {}, differences: [write, write] } };
    const told = shortText(status, 80)
      .split('\n')
      .filter((line) => line.startsWith('dry run'));
    expect(told).toEqual(['dry run: 3 writes, which --all lists']);
  });

  it('says since when each part of the verdict holds', () => {
    const parts = [
      { part: 'cannot reach the host since 2026-01-01T00:00:09Z', since: '2026-01-01T00:00:09Z' },
      { part: '1 object waits', since: '2026-01-01T00:00:08Z' },
    ];
    const verdict = { isWell: false, sentence: 'all of it', since: '2026-01-01T00:00:09Z', parts };
    expect(shortText({ verdict }).trimStart()).toBe(
      'cannot reach the host since 2026-01-01T00:00:09Z; 1 object waits (since 2026-01-01T00:00:08Z)\n',
    );
    const page = textOf(statusMain({ verdict }, [], { asOf: new Date(0) }).text);
    expect(page).toContain(
      'cannot reach the host since 2026-01-01T00:00:09Z; 1 object waits (since 2026-01-01T00:00:08Z)',
    );
  });

  it('tells of each part of a long verdict the beginning, the cause and since when, on a screen of 80 columns', () => {
    const since = '2026-11-27T04:42:01Z';
    const parts = [
      `2 of 15 objects cannot reach the host (1 PatchFailed, 1 AddressRefused), ${'and so on '.repeat(4)}and no more`,
      '2 references have nothing behind them (ReferenceUnresolved), which patches name in their annotations',
      `cluster dead cannot be asked for the rights of Hostward: connecting to "https://127.0.0.1:1": connection refused`,
      'the audit log was damaged before the start: audit.log:7: the line was changed; keep the files as they are',
    ].map((part) => ({ part, since }));
    const verdict = { isWell: false, sentence: parts.map(({ part }) => part).join('; '), since, parts };
    const many = Array.from({ length: 6 }, (_, at) => ({ ...trouble[at], state: `refused/Reason${at}` }));
    const lines = shortText({ ...failing, verdict, trouble: [...trouble, ...many] }, 80)
      .trimEnd()
      .split('\n');
    expect(lines.length).toBeLessThanOrEqual(23);
    const told = lines.slice(lines.lastIndexOf('') + 1).join(' ');
    for (const { part } of parts) expect(told).toContain(part.slice(0, 30));
    expect(told.split(`(since ${since})`)).toHaveLength(5);
    for (const end of ['no more', 'tations', 'refused', 'hey are']) expect(told).toContain(`${end} (since`);
  });

  it('says behind a command what that command does, also where it lists the objects that others mend', () => {
    const failed = [0, 1].map((at) => ({
      object: `shop/db${at}`,
      kind: 'Endpoints',
      state: 'refused/PatchFailed',
      message: 'patch 1 threw',
    }));
    const told = [failed, trouble].map((rows) => shortText({ ...failing, trouble: rows }).split('\n'));
    const lists = told.flat().filter((line) => line.includes(' status --state '));
    expect(lists).toHaveLength(2);
    expect(lists[0]).toMatch(/ --state refused\/PatchFailed {2}# correct .*patches\[1\].*; this lists them$/);
    for (const line of lists) expect(line.split(/# |; /).filter((part) => part.startsWith('this '))).toHaveLength(1);
  });

  it('says once that a file is to be corrected, also where a restart waits for it', () => {
    const short = shortText({
      newConfigurationIsInvalid: ['hostward.yaml:3:1: this is not YAML'],
      settingsWaitForRestart: ['hostward.proofInterval'],
      long: Array.from({ length: 30 }, (_, at) => `value ${at}`),
    });
    expect(short.split('correct the file')).toHaveLength(2);
    expect(short).toContain('! configuration (RestartNeeded): waiting for a restart, and none can start: ');
  });

  it('says a right that is missing once, however many lack it', () => {
    const lacks =
      'endpoints "a" is forbidden: User "u" cannot patch resource "endpoints" in API group "" in the namespace "ns"';
    const short = shortText({
      outages: [{ cluster: 'host', kind: 'unwritable', seconds: 9, message: lacks }],
      trouble: [
        {
          object: 'shop/a',
          kind: 'Endpoints',
          state: 'refused/Forbidden',
          message: 'the host cluster does not allow "patch" on endpoints',
        },
      ],
      long: Array.from({ length: 30 }, (_, at) => `value ${at}`),
    });
    const line = short.split('\n').find((one) => one.includes(' # '));
    expect(line?.split('grant "patch"')).toHaveLength(2);
    expect(line?.split('this grants all')).toHaveLength(2);
  });

  it('counts the patches of all kinds', () => {
    const rows = (values: number, failures: number) => [{ patch: 0, values, failures }];
    const status = {
      ...{ ...(cases.find(([name]) => name === 'well')?.[1] as StatusJson), trouble, patches: rows(1, 0) },
      endpointSlices: { kind: 'EndpointSlice', objects: { inSync: 1 }, patches: rows(20, 3) },
    };
    expect(shortText(status, 120).split('\n')).toContain('patches: 2, 21 values, 3 failures');
  });

  it('says how many more things need a person, and how to see them', () => {
    const lines = shortText({ ...failing, eventsForbidden: undefined, trouble }, 80).split('\n');
    expect(lines.join(' ')).toMatch(/! \d+ objects \(NotOwned\).*… and \d+ more: .*EndingSoon/);
    expect(lines).toContain('npx hostward status --all tells the rest');
  });

  it('shows the worst trouble with its whole command, however long the facts, the verdict and the command are', () => {
    const program = `kubectl -n vcluster-shop exec ${'shop-'.repeat(20)}0 -c hostward -- node /opt/hostward/src/main.ts`;
    const told = { program, options: [], restart: 'kubectl -n vcluster-shop delete pod shop-0' };
    const verdict = { isWell: false, sentence: 'cannot write to the host cluster: forbidden; '.repeat(40) };
    const references = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`Kind${at}`, { copied: 10_000 + at, waiting: 20_000 + at }]),
    );
    for (const columns of [80, 40]) {
      const lines = shortText({ ...failing, startedAs: told, verdict, references }, columns)
        .trimEnd()
        .split('\n');
      expect(lines.join('\n')).toContain('! host cluster (unreachable): ');
      expect(lines).toContain(`  ${program} doctor`);
      const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
      expect(rows).toBeLessThanOrEqual(23);
    }
  });
});
