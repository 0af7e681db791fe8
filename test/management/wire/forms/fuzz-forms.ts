// `npm run fuzz:rights`: asks a running management API, clusters behind it, and `hostward direct` beside them, cells of the authorisation matrix in forms that a
// clever client would try, and compares each answer, and what arrives behind, with the model of another hand. Exit code 0: no difference; 1: differences, with
// their seeds; 2: wrong usage.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '../../../../src/cli/demo/free-ports.ts';
import { type Clock, systemClock } from '../../../../src/clock.ts';
import { silentLog } from '../../../../src/log.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import type { MatrixCase, MatrixKey } from '../../matrix-case.ts';
import { cells } from '../../model/cases/matrix-cases.ts';
import { Dice } from '../../model/dice.ts';
import { modelVerdict } from '../../model/model.ts';
import { type KeyValues, seedFolder } from '../seeded-folder.ts';
import { outcomeOf, renamed, settingsOf, type WireCell } from '../wire-cells.ts';
import { bytesOf, type Form, forms, plain } from './forms.ts';
import { proxiedForms } from './proxied-forms.ts';
import { exchange, type RawAnswer } from './raw-client.ts';
import { arrivalFaults, hello, Upstream } from './upstream.ts';
import { ways as allWays, asksForToken, drawWay, leadsNowhere, type Way, Ways } from './ways.ts';

const rounds = 9;
const matrixSeed = 1;
const sideBySide = 6;
const mostTries = 40;
const sessionForms = proxiedForms.filter(({ answersAs }) => answersAs !== undefined);

export interface Differences {
  asked: number;
  /** How often each form was sent. */
  sent: Map<string, number>;
  /** How often each way was taken. */
  taken: Map<Way, number>;
  /** Protocols that were changed, through the server and past it. */
  sessions: number;
  allowed: number;
  /** Requests that a cluster behind the server has seen. */
  arrived: number;
  found: string[];
}

/** Plays these seeds: each draws a cell, a form, and whether other requests share the connection. */
export async function fuzz(
  seeds: readonly number[],
  { tell, judge = modelVerdict }: { tell?: (text: string) => void; judge?: typeof modelVerdict } = {},
): Promise<Differences> {
  const all = [...cells(rounds, matrixSeed)];
  const [own, proxied] = [false, true].map((isProxied) => all.flatMap((cell) => renamed(cell, { isProxied }) ?? []));
  const drawn = seeds.map((seed) => draw(seed, own as WireCell[], proxied as WireCell[]));
  const folder = mkdtempSync(join(tmpdir(), 'hostward-forms-'));
  const nowMs = Math.floor(systemClock.wallTime().getTime() / 1000) * 1000;
  const clock: Clock = { ...systemClock, wallTime: () => new Date(nowMs) };
  const chosen = [...new Set(drawn.map(({ cell }) => cell))];
  const result: Differences = {
    ...{ asked: 0, sent: new Map(), taken: new Map(), sessions: 0, allowed: 0, arrived: 0, found: [] },
  };
  if (chosen.length === 0) return result;
  let api: ManagementApi | undefined;
  let ways: Ways | undefined;
  const upstream = new Upstream();
  try {
    await upstream.start();
    const values = await seedFolder(
      folder,
      chosen.map(({ of }) => of),
      { clock, nowMs },
    );
    // Known before the start, because tokens name it and endpoints look for it there.
    const port = await freePort();
    const platform = `https://localhost:${port}`;
    const server = { listen: `127.0.0.1:${port}`, baseURL: platform, dataDir: folder, ingressListen: undefined };
    api = new ManagementApi({
      settings: upstream.behind(settingsOf((chosen[0] as WireCell).of.configuration)),
      server,
      clock,
      log: silentLog,
      version: '0.1.0',
    });
    await api.open();
    await api.serve();
    ways = new Ways(api);
    await ways.open({ folder, platform, kubeconfig: upstream.kubeconfig, clock });
    const stage = { ways, values, upstream };
    // Neighbours share a configuration, which all requests of a moment need.
    for (const configuration of new Set(drawn.map(({ cell }) => cell.of.configuration))) {
      await api.apply(upstream.behind(settingsOf(configuration)));
      const group = drawn.filter(({ cell }) => cell.of.configuration === configuration);
      for (let at = 0; at < group.length; at += sideBySide)
        await Promise.all(group.slice(at, at + sideBySide).map((one) => play(one, stage, { result, tell, judge })));
    }
    return result;
  } finally {
    await ways?.close();
    await api?.close();
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Drawn {
  seed: number;
  cell: WireCell;
  form: Form;
  way: Way;
  dice: Dice;
  neighbour: 'none' | 'before' | 'behind';
}

function draw(seed: number, own: readonly WireCell[], proxied: readonly WireCell[]): Drawn {
  // Seeds beside each other would begin with forms beside each other.
  const dice = new Dice(Math.imul(seed + 1, 0x9e3779b1) >>> 0);
  const isProxied = dice.chance(50);
  // A few forms lead to a session, and each of them has much to show.
  const form = dice.pick(isProxied ? (dice.chance(30) ? sessionForms : proxiedForms) : forms);
  const way = drawWay(isProxied, dice);
  return {
    ...{ seed, form, way, dice },
    cell: isProxied ? (dice.chance(80) ? arriving(proxied, { form, way }, dice) : dice.pick(proxied)) : dice.pick(own),
    neighbour: dice.pick(['none', 'none', 'before', 'behind'] as const),
  };
}

/** Most cells of the matrix are refused, and not all can take each form; behind the server only the others can be looked at. */
function arriving(proxied: readonly WireCell[], { form, way }: Pick<Drawn, 'form' | 'way'>, dice: Dice): WireCell {
  const some = Array.from({ length: mostTries }, () => dice.pick(proxied));
  const able = some.filter(({ of, wire }) => form.apply(plain('key', wire), new Dice(1), of.request) !== undefined);
  const isAllowed = ({ of }: WireCell) =>
    modelVerdict({ ...of, request: form.asks?.(of.request) ?? of.request }).answer.allowed;
  const allowed = able.filter((cell) => isThere(cell.of) && !leadsNowhere(way, cell.of) && isAllowed(cell));
  return dice.pick([allowed, able, some].find((cells) => cells.length > 0) as WireCell[]);
}

function isThere({ configuration, request: { target } }: MatrixCase): boolean {
  if (target.kind === 'Management') return true;
  if (target.kind === 'Cluster') return configuration.clusters.some(({ name }) => name === target.cluster);
  const project = configuration.projects.find(({ name }) => name === target.project);
  return target.kind === 'ProjectSpace'
    ? (project?.spaces ?? []).some(({ name }) => name === target.space)
    : (project?.virtualClusters ?? []).some(({ name }) => name === target.virtualCluster);
}

interface Stage {
  ways: Ways;
  values: KeyValues;
  upstream: Upstream;
}

const mostTokenTries = 5;

async function play(
  { seed, cell, form, way, dice, neighbour }: Drawn,
  { ways, values, upstream }: Stage,
  {
    result,
    tell,
    judge,
  }: { result: Differences; tell: ((text: string) => void) | undefined; judge: typeof modelVerdict },
): Promise<void> {
  const { of, wire, title } = cell;
  const key = values.get(of.caller) ?? 'none';
  const differs = (what: string, because: string) =>
    result.found.push(`seed ${seed}, ${form.name}, ${way}: ${what}; ${because}\n${title}\n${wire.method} ${wire.path}`);
  let secret = key;
  if (way === 'token' || way === 'endpoint') {
    let { token, code } = await ways.tokenOf(key);
    // A server that other programs starve says so, and a client asks again: it is no judgement.
    for (let tries = 1; code === 503 && tries < mostTokenTries; tries++) ({ token, code } = await ways.tokenOf(key));
    const { answer, because } = judge({ ...of, request: asksForToken });
    const isRefused = code === 401 || code === 403;
    // A scope of many entries is too long for a token.
    if (isRefused === answer.allowed || ![201, 401, 403, 422].includes(code))
      differs(`a token was answered ${code}`, because.join('; '));
    result.asked++;
    if (token === undefined) return;
    secret = token;
  }
  const sender = `fuzz/${seed}`;
  const usual = plain(secret, wire);
  const sent = form.apply({ ...usual, headers: [...usual.headers, ['User-Agent', sender]] }, dice, of.request);
  if (sent === undefined) return;
  const isLost = leadsNowhere(way, of);
  const means = isLost ? 'refused' : form.means;
  const answersAs = isLost ? undefined : form.answersAs;
  const isSession = form.answersAs !== undefined;
  // What is sent behind a head that asks for a session belongs to the session, and without one it is nothing.
  const early = isSession && dice.chance(50) ? `GET /early HTTP/1.1\r\nHost: localhost\r\n\r\n` : '';
  const late = isSession ? `late ${seed}` : '';
  // A watch has no end, so nothing follows it.
  const isWatch = /[?&]watch=/.test(sent.target);
  const isFollowed = neighbour === 'behind' && !isWatch && !isSession && means === 'same';
  const version = Buffer.from('GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const closing = Buffer.from('GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const bytes = Buffer.concat([
    ...(neighbour === 'before' ? [version] : []),
    bytesOf(sent, !isFollowed && !isSession),
    Buffer.from(early),
    ...(isFollowed ? [closing] : []),
  ]);
  const answers = await exchange(ways.addressFor(way, of), bytes, late);
  tell?.(`${title}, ${way}\n${bytes.toString('latin1')}\n→ ${JSON.stringify(answers, undefined, 1)}`);
  const own = answers[neighbour === 'before' ? 1 : 0];
  // HEAD is served as GET, and judged as GET.
  const asked = form.asks?.(of.request) ?? of.request;
  const asServed = { ...of, request: asked.verb === 'head' ? { ...asked, verb: 'get' } : asked };
  const { answer, because } = judge(asServed as MatrixCase);
  result.asked++;
  for (const [counted, one] of [[result.sent, form.name] as const, [result.taken as Map<string, number>, way] as const])
    counted.set(one, (counted.get(one) ?? 0) + 1);
  if (answer.allowed) result.allowed++;
  if (own?.code === 101) result.sessions++;
  const wantedAnswers = (neighbour === 'before' ? 1 : 0) + 1 + (isFollowed ? 1 : 0);
  const aside =
    isFollowed && answers.length === 2 && answers[1]?.code !== followedBy(way)
      ? `the request behind it was answered ${answers[1]?.code}`
      : undefined;
  const arrivals = upstream.arrivals.get(sender) ?? [];
  result.arrived += arrivals.length;
  const owner = of.keys.find(({ name }) => name === of.caller) as MatrixKey;
  const target = of.request.target;
  const faults = [
    // A session cannot have a connection on which another answer is still under way, and closes it.
    ...(isSession && neighbour === 'before' && own === undefined
      ? []
      : [faultOf({ means, answersAs }, own, { isAllowed: answer.allowed, of })]),
    ...(answers.length > wantedAnswers ? [`${answers.length} answers to ${wantedAnswers} requests`] : []),
    ...(own?.code === 101 && own.text !== hello + early + late ? [`the session said ${JSON.stringify(own.text)}`] : []),
    aside,
    ...(arrivals.length > 1 ? [`arrived ${arrivals.length} times`] : []),
    ...(arrivals.length > 0 && (!answer.allowed || means === 'refused') ? ['arrived'] : []),
    ...(arrivals.length === 0 && means === 'same' && own?.code === (answersAs ?? 200) && isProxied(of)
      ? ['never arrived']
      : []),
    ...arrivals.flatMap((arrival) => arrivalFaults(arrival, { key: owner, secret, wire, target, sent })),
  ];
  for (const what of faults)
    if (what !== undefined)
      differs(what, `the model says ${answer.allowed ? 'allowed' : 'refused'} because ${because.join('; ')}`);
}

/** Whoever has shown nothing reads the version of the management server, and nothing of an endpoint but its probes. */
function followedBy(way: Way): number {
  return way === 'endpoint' || way === 'key at the endpoint' ? 404 : 200;
}

function isProxied({ request }: MatrixCase): boolean {
  return request.target.kind !== 'Management';
}

function faultOf(
  { means, answersAs }: Pick<Form, 'means' | 'answersAs'>,
  own: RawAnswer | undefined,
  { isAllowed, of }: { isAllowed: boolean; of: MatrixCase },
): string | undefined {
  // A connection that is closed without a word is a refusal, but of nothing that any client sends.
  if (own === undefined) return means === 'same' ? 'no answer' : undefined;
  if (answersAs !== undefined && isAllowed && isThere(of))
    return own.code === answersAs ? undefined : `answered ${own.code} instead of ${answersAs}`;
  // Whoever may not reach a cluster is not told whether there is one.
  const isUnseen = own.code === 404 && isProxied(of) && !(isAllowed && isThere(of));
  if (isUnseen) return undefined;
  const outcome = outcomeOf({ code: own.code, body: bodyOf(own) });
  if (typeof outcome === 'number' && own.code !== 501 && own.code !== 505) return `status ${own.code}`;
  if (own.code === 101 && !(means === 'notMore' && isAllowed)) return 'changed the protocol';
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

const usage = 'npm run fuzz:rights -- --seeds N [--from SEED] | --replay SEED\n';

async function command(words: readonly string[]): Promise<number> {
  const values = optionsIn(words);
  if (values === undefined) return 2;
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
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
    process.stderr.write(usage);
    return 2;
  }
  const { asked, allowed, arrived, sent, taken, sessions, found } = await fuzz(
    Array.from({ length: seeds }, (_, nth) => from + nth),
  );
  for (const text of found.slice(0, 10)) process.stdout.write(`${text}\n\n`);
  process.stdout.write(
    `${asked} requests in ${sent.size} of ${new Set([...forms, ...proxiedForms].map(({ name }) => name)).size} forms, by ${[...taken].map(([way, times]) => `${way} ${times}`).join(', ')}; the model allows ${allowed}, ${arrived} arrived at a cluster, ${sessions} became sessions; ${found.length} differences\n`,
  );
  const isTame = arrived === 0 || sessions === 0 || taken.size < allWays.length;
  return found.length === 0 && asked > 0 && (!isTame || seeds < 100) ? 0 : 1;
}

function optionsIn(words: readonly string[]) {
  try {
    const text = { type: 'string' } as const;
    const help = { type: 'boolean', short: 'h', default: false } as const;
    const options = { seeds: text, from: { ...text, default: '0' }, replay: text, help };
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    process.stderr.write(`fuzz:rights: ${(error as Error).message}\n${usage}`);
    return undefined;
  }
}

if (process.argv[1]?.endsWith('fuzz-forms.ts') === true) process.exitCode = await command(process.argv.slice(2));
