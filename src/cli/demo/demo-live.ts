// The live demo: changes a sample every second, watches both sides through its own windows, and draws the rows until Ctrl-C.
// In: an open theatre. Out: a table or lines. The printed kubectl commands work as they are, for a user who wants to look.
import { pause, type Timer } from '../../clock.ts';
import { openWindow } from '../../cluster/window/open-window.ts';
import type { Window } from '../../cluster/window/window.ts';
import { endpointsResource, namespacesResource, servicesResource } from '../../cluster/wire/scope.ts';
import { silentLog } from '../../log.ts';
import { createMetrics } from '../../metrics.ts';
import { type Key, keyOf } from '../../object/meta/object.ts';
import { shellWord } from '../../safe-text.ts';
import { apiServerKey } from '../../sync/kinds/endpoints/eligibility.ts';
import { createPlacement } from '../../sync/plan/placement.ts';
import { expectOk } from '../line/cluster-client.ts';
import { type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { DemoBoard, projectSeen, type ShownObject } from './demo-board.ts';
import { kubeconfigIn } from './demo-folder.ts';
import { asPatched, secretAnnotation } from './demo-patches.ts';
import { changeAt, firstEndpoints, sampleNamespaces, samples } from './demo-samples.ts';
import {
  hostNamespace,
  namespaceObject,
  secretObject,
  secretsResource,
  serviceObject,
  virtualClusterName,
} from './demo-story.ts';
import { sides, type Theatre } from './demo-theatre.ts';
import { frameOf, lagText, plainLine, Screen } from './demo-view.ts';

const changeEveryMs = 1_000;
/** Four times a second keeps "2 s ago" true and does not flood a slow line. */
const redrawEveryMs = 250;
/** Lags kept for the summary: more than an hour of changes. */
const lagLimit = 10_000;

export async function showLive(
  theatre: Theatre,
  { isJson, over }: { isJson: boolean; over: AbortSignal },
): Promise<ExitCode> {
  const { context } = theatre;
  const lags: number[] = [];
  const isLive = context.stdout.isTerminal && !isJson;
  const board = new DemoBoard({
    clock: context.clock,
    hostKeyOf,
    agreed: (row) => {
      if (row.lagMs !== undefined && lags.length < lagLimit) lags.push(row.lagMs);
      if (!isLive) context.stdout.write(isJson ? `${JSON.stringify(row)}\n` : `${plainLine(row)}\n`);
    },
  });
  const windows = openWindows(theatre, board);
  const screen = new Screen(context.stdout);
  const footer = footerOf(theatre);
  const title = `hostward ${context.version} demo: virtual cluster "${virtualClusterName}" -> host namespace "${hostNamespace}"`;
  if (!isLive && !isJson)
    context.stdout.write(
      `${[title, ...theatre.patchLines(), ...keyLines(theatre), ...footer, ...accessLines(theatre), endLine].join('\n')}\n`,
    );
  const drawing = isLive ? new Drawing(context, screen, () => frame(theatre, board, { title, footer })) : undefined;
  try {
    for (const window of windows) window.start();
    await createSamples(theatre);
    drawing?.start();
    await changeSamples(theatre, over);
  } finally {
    drawing?.stop();
    for (const window of windows) await window.stop();
  }
  if (!isJson) context.stdout.write(`${[...theatre.patchLines(), summaryOf(lags)].join('\n')}\n`);
  return exitCodes.fine;
}

const placement = createPlacement({ virtualCluster: virtualClusterName, hostNamespace });

function hostKeyOf(key: Key): Key {
  const place = placement.placeOf(key);
  return place === undefined ? '' : keyOf(place.namespace, place.name);
}

function openWindows(theatre: Theatre, board: DemoBoard): Window<ShownObject>[] {
  const { clock, random } = theatre.context;
  return sides.map((side) => {
    const window = openWindow<ShownObject>({
      connection: theatre.connectionOf(side),
      ref: endpointsResource,
      ...(side === 'host' && { namespace: hostNamespace }),
      project: side === 'virtual' ? (object) => projectSeen(asPatched(object, virtualClusterName)) : projectSeen,
      clock,
      random,
      log: silentLog,
      metrics: createMetrics(),
    });
    window.subscribe({
      changed: ({ key }) => {
        if (side === 'host') board.hostChanged(key, window.get(key));
        else if (key !== apiServerKey) board.virtualChanged(key, window.get(key));
      },
    });
    return window;
  });
}

async function createSamples(theatre: Theatre): Promise<void> {
  const virtual = theatre.client('virtual');
  for (const name of sampleNamespaces) {
    const answer = await virtual.create(namespacesResource, namespaceObject(name));
    if (answer.kind !== 'alreadyExists') expectOk(answer, `create namespace "${name}"`);
  }
  for (const sample of samples) {
    const service = serviceObject(sample.namespace, sample.name);
    expectOk(await virtual.create(servicesResource, service), `create Service "${sample.name}"`);
    const secret = sample.annotations?.[secretAnnotation];
    if (secret !== undefined) {
      const object = secretObject(sample.namespace, secret);
      expectOk(await virtual.create(secretsResource, object), `create Secret "${secret}"`);
    }
    expectOk(await virtual.create(endpointsResource, firstEndpoints(sample)), `create Endpoints "${sample.name}"`);
  }
}

/** Patches samples and never creates them, so a sample that the user deletes stays away. */
async function changeSamples(theatre: Theatre, over: AbortSignal): Promise<void> {
  const virtual = theatre.client('virtual');
  for (let tick = 0; !over.aborted; tick++) {
    await pause(theatre.context.clock, changeEveryMs, over);
    if (over.aborted) return;
    const { sample, mergePatch } = changeAt(tick);
    await virtual.change(endpointsResource, sample, mergePatch);
  }
}

class Drawing {
  readonly #context: Context;
  readonly #screen: Screen;
  readonly #frame: () => string[];
  #timer: Timer | undefined;
  #forgetResize: (() => void) | undefined;

  constructor(context: Context, screen: Screen, frame: () => string[]) {
    this.#context = context;
    this.#screen = screen;
    this.#frame = frame;
  }

  start(): void {
    this.#screen.open();
    this.#forgetResize = this.#context.onSignal('resize', () => this.#screen.draw(this.#frame()));
    this.#tick();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#forgetResize?.();
    this.#screen.close();
  }

  #tick(): void {
    this.#screen.draw(this.#frame());
    this.#timer = this.#context.clock.after(redrawEveryMs, () => this.#tick());
  }
}

function frame(theatre: Theatre, board: DemoBoard, words: { title: string; footer: readonly string[] }): string[] {
  // Some containers give a terminal that reports 0 columns and rows.
  const columns = theatre.context.stdout.columns || 80;
  const lines = theatre.context.stdout.rows || 24;
  const footer = [...theatre.patchLines(), ...commandLines(theatre, words.footer, { columns, lines })];
  return frameOf({ rows: board.rows(), columns, lines, ...words, footer, reasonOf: (key) => reasonOf(theatre, key) });
}

/** A command that is cut off at the edge is no command, so a narrow terminal shows the blocks that fit. */
function commandLines(
  theatre: Theatre,
  look: readonly string[],
  { columns, lines }: { columns: number; lines: number },
): string[] {
  const blocks: [readonly string[], number][] = [
    [keyLines(theatre), linesForKeys],
    [look, 0],
    [accessLines(theatre), linesForAccess],
  ];
  const widthOf = (block: readonly string[]) => Math.max(...block.map((line) => line.length));
  const shown = blocks.filter(([block, needed]) => lines >= needed && columns >= widthOf(block));
  if (shown.length === blocks.length) return [...blocks.flatMap(([block]) => block), endLine];
  const size = `${Math.max(...blocks.map(([block]) => widthOf(block)))} columns and ${linesForAccess} rows`;
  if (shown.length === 0) return [`More commands at ${size}. Ctrl-C ends it.`];
  return [...shown.flatMap(([block]) => block), `Type these in a second terminal; more at ${size}. Ctrl-C ends it.`];
}

function reasonOf(theatre: Theatre, key: Key): string | undefined {
  const status = theatre.daemon?.status() as { trouble?: { object: Key; state: string }[] } | undefined;
  return status?.trouble?.find((one) => one.object === key)?.state.replace(/^.*\//, '');
}

/** Every line fits 80 columns, even with the longer folder name of a second demo. */
function footerOf(theatre: Theatre): string[] {
  const kubectl = (side: 'virtual' | 'host') => `kubectl --kubeconfig ${kubeconfigIn('', side)}`;
  return [
    'Look at both sides, edit them, delete a host copy:',
    `cd ${shellWord(theatre.folder)}`,
    `${kubectl('virtual')} get endpoints -A`,
    `${kubectl('host')} get endpoints`,
    `${kubectl('host')} delete ep ${hostKeyOf('shop/search').split('/')[1]}`,
    `./hostward status --address ${theatre.statusAddress}`,
    `The same as a page, in a browser: http://${theatre.statusAddress}/`,
  ];
}

/** On a terminal with fewer lines the table would have no place; plain output always has these commands. */
const endLine = 'Type these in a second terminal. Ctrl-C here ends the demo.';
const linesForKeys = 36;
const linesForAccess = 44;

function keyLines(theatre: Theatre): string[] {
  return ['Make an access key, look at it, disable it:', ...theatre.keyCommands];
}

function accessLines(theatre: Theatre): string[] {
  return ['Fetch a kubeconfig and use it, make a direct token and use it:', ...theatre.accessCommands];
}

function summaryOf(lags: readonly number[]): string {
  if (lags.length === 0) return 'no change was seen';
  const sorted = lags.toSorted((a, b) => a - b);
  const at = (share: number) => lagText(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
  const shown: [string, number][] = [
    ['median', 0.5],
    ['99th percentile', 0.99],
  ];
  const figures = shown.map(([name, share]) => `${name} ${at(share)} ms`);
  return `${lags.length} changes arrived; lag from watch to watch: ${figures.join(', ')}`;
}
