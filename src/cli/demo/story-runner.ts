// Plays a story against two API servers. In: steps, clients, a daemon to stop and start. Out: for each step its differences; an
// empty list means that the step passed. After the acts of a step, the runner asks both sides until they match or time is up.
import { type Clock, pause } from '../../clock.ts';
import type { Answer } from '../../cluster/answer.ts';
import { eventsResource } from '../../cluster/wire/scope.ts';
import { type ClusterClient, expectOk, type Side } from '../line/cluster-client.ts';
import type { Act, Expectation, Spot, StoryStep } from './demo-story.ts';

export interface Stage {
  clients: Record<Side, ClusterClient>;
  clock: Clock;
  startDaemon(): Promise<void>;
  stopDaemon(): Promise<void>;
}

export interface StepOutcome {
  step: StoryStep;
  tookMs: number;
  /** Empty when the step passed. */
  differences: string[];
}

/** A hundred times longer than a usual step. */
const stepDeadlineMs = 20_000;
const askAgainMs = 10;

export async function playStep(stage: Stage, step: StoryStep): Promise<StepOutcome> {
  const startMs = stage.clock.now();
  const before = await remember(stage, step);
  for (const act of step.acts) await perform(stage, act);
  let differing: string[] = [];
  for (const expectation of step.expects) {
    // The order matters: "untouched" proves something only after the expected changes have arrived.
    differing = await waitFor(stage, expectation, before, startMs + stepDeadlineMs);
    if (differing.length > 0) break;
  }
  return { step, tookMs: stage.clock.now() - startMs, differences: differing };
}

type ObjectsBefore = Map<string, { uid: string | undefined; resourceVersion: string | undefined }>;

async function remember(stage: Stage, step: StoryStep): Promise<ObjectsBefore> {
  const memory: ObjectsBefore = new Map();
  for (const expectation of step.expects) {
    if (expectation.see !== 'replaced' && expectation.see !== 'untouched') continue;
    const object = expectOk(await look(stage, expectation.at), `read ${wordsOf(expectation.at)}`);
    const { uid, resourceVersion } = object.metadata;
    memory.set(wordsOf(expectation.at), { uid, resourceVersion });
  }
  return memory;
}

async function perform(stage: Stage, act: Act): Promise<void> {
  switch (act.do) {
    case 'create': {
      const { kind, metadata } = act.object;
      const answer = await stage.clients[act.side].create(act.ref, act.object);
      expectOk(answer, `create ${act.side} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
      return;
    }
    case 'change':
      expectOk(
        await stage.clients[act.at.side].change(act.at.ref, act.at, act.mergePatch),
        `change ${wordsOf(act.at)}`,
      );
      return;
    case 'delete':
      expectOk(await stage.clients[act.at.side].remove(act.at.ref, act.at), `delete ${wordsOf(act.at)}`);
      return;
    case 'stopDaemon':
      return stage.stopDaemon();
    case 'startDaemon':
      return stage.startDaemon();
    default:
      return act satisfies never;
  }
}

async function waitFor(
  stage: Stage,
  expectation: Expectation,
  before: ObjectsBefore,
  deadlineMs: number,
): Promise<string[]> {
  for (;;) {
    const differing = await compare(stage, expectation, before);
    if (differing.length === 0 || stage.clock.now() >= deadlineMs) return differing;
    await pause(stage.clock, askAgainMs);
  }
}

async function compare(stage: Stage, expectation: Expectation, before: ObjectsBefore): Promise<string[]> {
  if (expectation.see === 'event') return compareEvent(stage, expectation);
  const { at } = expectation;
  const answer = await look(stage, at);
  if (answer.kind === 'notFound') return expectation.see === 'absent' ? [] : [`${wordsOf(at)} is not there`];
  const object = expectOk(answer, `read ${wordsOf(at)}`);
  const was = before.get(wordsOf(at));
  switch (expectation.see) {
    case 'absent':
      return [`${wordsOf(at)} is still there`];
    case 'object':
      return differences(expectation.like, object).map((line) => `${wordsOf(at)} ${line}`);
    case 'replaced':
      return object.metadata.uid === was?.uid ? [`${wordsOf(at)} still has uid "${was?.uid}"`] : [];
    case 'untouched': {
      const isSame = object.metadata.uid === was?.uid && object.metadata.resourceVersion === was?.resourceVersion;
      return isSame
        ? []
        : [
            `${wordsOf(at)} was written, resourceVersion ${was?.resourceVersion} became ${object.metadata.resourceVersion}`,
          ];
    }
    default:
      return expectation satisfies never;
  }
}

async function compareEvent(
  stage: Stage,
  { about, reason }: Extract<Expectation, { see: 'event' }>,
): Promise<string[]> {
  const events = await stage.clients.virtual.list(eventsResource, about.namespace);
  const isIt = (event: Record<string, unknown>) =>
    event['reason'] === reason && (event['involvedObject'] as { name?: string } | undefined)?.name === about.name;
  if (events.some(isIt)) return [];
  const reasons = events.map((event) => `"${event['reason']}"`);
  return [
    `virtual ${about.namespace}/${about.name} wanted an event "${reason}", found ${reasons.join(', ') || 'none'}`,
  ];
}

function look(stage: Stage, at: Spot): Promise<Answer> {
  return stage.clients[at.side].get(at.ref, at);
}

function wordsOf(at: Spot): string {
  return `${at.side} ${at.ref.resource} ${at.namespace}/${at.name}`;
}

// Compares a value with a pattern that names only the members that matter. Each difference is one line: `path: wanted …, found …`.

/** Objects must have every member of `wanted`, where null means absent. Lists must have the same length. */
export function differences(wanted: unknown, found: unknown, path = ''): string[] {
  if (wanted === null) return found === undefined || found === null ? [] : [line(path, undefined, found)];
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return [line(path, wanted, found)];
    return wanted.flatMap((element, index) => differences(element, found[index], `${path}[${index}]`));
  }
  if (typeof wanted === 'object') {
    // A missing map passes where every wanted member is absent.
    const map = typeof found === 'object' && found !== null ? found : {};
    return Object.entries(wanted).flatMap(([key, value]) =>
      differences(
        value,
        Object.hasOwn(map, key) ? (map as Record<string, unknown>)[key] : undefined,
        memberPath(path, key),
      ),
    );
  }
  return wanted === found ? [] : [line(path, wanted, found)];
}

function memberPath(path: string, key: string): string {
  if (!/^[A-Za-z_]\w*$/.test(key)) return `${path}["${key}"]`;
  return path === '' ? key : `${path}.${key}`;
}

function line(path: string, wanted: unknown, found: unknown): string {
  const say = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  return `${path}: wanted ${say(wanted)}, found ${say(found)}`;
}
