// `npm run fuzz:rights`: asks a running management API cells of the authorisation matrix in forms that a clever client would try, and compares each answer with the
// model of another hand. Exit code 0: no difference; 1: differences, with their seeds; 2: wrong usage.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Clock, systemClock } from '../../../../src/clock.ts';
import { silentLog } from '../../../../src/log.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import type { MatrixCase } from '../../matrix-case.ts';
import { cells } from '../../model/cases/matrix-cases.ts';
import { Dice } from '../../model/dice.ts';
import { modelVerdict } from '../../model/model.ts';
import { type KeyValues, seedFolder } from '../seeded-folder.ts';
import { outcomeOf, renamed, settingsOf, type WireCell } from '../wire-cells.ts';
import { bytesOf, type Form, forms, plain } from './forms.ts';
import { exchange, type RawAnswer } from './raw-client.ts';

const rounds = 9;
const matrixSeed = 1;
const sideBySide = 6;

export interface Differences {
  asked: number;
  /** How often each form was sent. */
  sent: Map<string, number>;
  allowed: number;
  found: string[];
}

/** Plays these seeds: each draws a cell, a form, and whether other requests share the connection. */
export async function fuzz(
  seeds: readonly number[],
  { tell, judge = modelVerdict }: { tell?: (text: string) => void; judge?: typeof modelVerdict } = {},
): Promise<Differences> {
  const all = [...cells(rounds, matrixSeed)].flatMap((cell) => renamed(cell) ?? []);
  const drawn = seeds.map((seed) => draw(seed, all));
  const folder = mkdtempSync(join(tmpdir(), 'hostward-forms-'));
  const nowMs = Math.floor(systemClock.wallTime().getTime() / 1000) * 1000;
  const clock: Clock = { ...systemClock, wallTime: () => new Date(nowMs) };
  const chosen = [...new Set(drawn.map(({ cell }) => cell))];
  const result: Differences = { asked: 0, sent: new Map(), allowed: 0, found: [] };
  if (chosen.length === 0) return result;
  let api: ManagementApi | undefined;
  try {
    const values = await seedFolder(
      folder,
      chosen.map(({ of }) => of),
      { clock, nowMs },
    );
    const server = { listen: '127.0.0.1:0', baseURL: 'https://localhost', dataDir: folder, ingressListen: undefined };
    api = new ManagementApi({
      settings: settingsOf((chosen[0] as WireCell).of.configuration),
      server,
      clock,
      log: silentLog,
      version: '0.1.0',
    });
    await api.open();
    await api.serve();
    // Neighbours share a configuration, which all requests of a moment need.
    for (const configuration of new Set(drawn.map(({ cell }) => cell.of.configuration))) {
      await api.apply(settingsOf(configuration));
      const group = drawn.filter(({ cell }) => cell.of.configuration === configuration);
      for (let at = 0; at < group.length; at += sideBySide)
        await Promise.all(
          group
            .slice(at, at + sideBySide)
            .map((one) => play(one, api as ManagementApi, values, { result, tell, judge })),
        );
    }
    return result;
  } finally {
    await api?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Drawn {
  seed: number;
  cell: WireCell;
  form: Form;
  dice: Dice;
  neighbour: 'none' | 'before' | 'behind';
}

function draw(seed: number, all: readonly WireCell[]): Drawn {
  // Seeds beside each other would begin with forms beside each other.
  const dice = new Dice(Math.imul(seed + 1, 0x9e3779b1) >>> 0);
  const form = dice.pick(forms);
  return {
    seed,
    cell: dice.pick(all),
    form,
    dice,
    neighbour: dice.pick(['none', 'none', 'before', 'behind'] as const),
  };
}

async function play(
  { seed, cell, form, dice, neighbour }: Drawn,
  api: ManagementApi,
  values: KeyValues,
  {
    result,
    tell,
    judge,
  }: { result: Differences; tell: ((text: string) => void) | undefined; judge: typeof modelVerdict },
): Promise<void> {
  const { of, wire, title } = cell;
  const sent = form.apply(plain(values.get(of.caller) ?? 'none', wire), dice);
  if (sent === undefined) return;
  // A watch has no end, so nothing follows it.
  const isWatch = /[?&]watch=true/.test(wire.path);
  const isFollowed = neighbour === 'behind' && !isWatch && form.means === 'same';
  const version = Buffer.from('GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const closing = Buffer.from('GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const bytes = Buffer.concat([
    ...(neighbour === 'before' ? [version] : []),
    bytesOf(sent, !isFollowed),
    ...(isFollowed ? [closing] : []),
  ]);
  const answers = await exchange(api.port, api.caPem, bytes);
  tell?.(`${title}\n${bytes.toString('latin1')}\n→ ${JSON.stringify(answers, undefined, 1)}`);
  const own = answers[neighbour === 'before' ? 1 : 0];
  // HEAD is served as GET, and judged as GET.
  const asServed = of.request.verb === 'head' ? { ...of, request: { ...of.request, verb: 'get' } } : of;
  const { answer, because } = judge(asServed as MatrixCase);
  result.asked++;
  result.sent.set(form.name, (result.sent.get(form.name) ?? 0) + 1);
  if (answer.allowed) result.allowed++;
  const wantedAnswers = (neighbour === 'before' ? 1 : 0) + 1 + (isFollowed ? 1 : 0);
  const fault =
    faultOf(form, own, answer.allowed) ??
    (answers.length > wantedAnswers ? `${answers.length} answers to ${wantedAnswers} requests` : undefined);
  const aside =
    isFollowed && answers.length === 2 && answers[1]?.code !== 200
      ? `the request behind it was answered ${answers[1]?.code}`
      : undefined;
  for (const what of [fault, aside])
    if (what !== undefined)
      result.found.push(
        `seed ${seed}, ${form.name}: ${what}; the model says ${answer.allowed ? 'allowed' : 'refused'} because ${because.join('; ')}\n${title}\n${sent.method} ${sent.target}`,
      );
}

function faultOf({ means }: Form, own: RawAnswer | undefined, isAllowed: boolean): string | undefined {
  // A connection that is closed without a word is a refusal, but of nothing that any client sends.
  if (own === undefined) return means === 'same' ? 'no answer' : undefined;
  const outcome = outcomeOf({ code: own.code, body: bodyOf(own) });
  if (typeof outcome === 'number' && own.code !== 501 && own.code !== 505) return `status ${own.code}`;
  if (own.code === 101) return 'changed the protocol';
  const wanted = isAllowed ? 'allowed' : 'refused';
  if (means === 'same') return outcome === wanted ? undefined : `answered ${own.code}`;
  if (means === 'refused') return own.code >= 400 ? undefined : `answered ${own.code}`;
  return own.code < 300 && !isAllowed ? `answered ${own.code}` : undefined;
}

function bodyOf({ text }: RawAnswer): never {
  try {
    return JSON.parse(text) as never;
  } catch {
    return {} as never;
  }
}

async function command(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: { seeds: { type: 'string' }, from: { type: 'string', default: '0' }, replay: { type: 'string' } },
  });
  const whole = (text: string | undefined): number =>
    text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (values.replay !== undefined && !Number.isNaN(whole(values.replay))) {
    const { found } = await fuzz([whole(values.replay)], {
      tell: (text) => process.stdout.write(`${text}\n`),
    });
    process.stdout.write(found.length === 0 ? 'no difference\n' : `${found.join('\n\n')}\n`);
    return found.length === 0 ? 0 : 1;
  }
  const [seeds, from] = [whole(values.seeds), whole(values.from)];
  if (Number.isNaN(seeds) || Number.isNaN(from)) {
    process.stderr.write('npm run fuzz:rights -- --seeds N [--from SEED] | --replay SEED\n');
    return 2;
  }
  const { asked, allowed, sent, found } = await fuzz(Array.from({ length: seeds }, (_, nth) => from + nth));
  for (const text of found.slice(0, 10)) process.stdout.write(`${text}\n\n`);
  process.stdout.write(
    `${asked} requests in ${sent.size} of ${forms.length} forms, the model allows ${allowed}; ${found.length} differences\n`,
  );
  return found.length === 0 && asked > 0 ? 0 : 1;
}

if (process.argv[1]?.endsWith('fuzz-forms.ts') === true) process.exitCode = await command(process.argv.slice(2));
