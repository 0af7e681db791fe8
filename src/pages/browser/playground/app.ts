// The whole page: texts on the left, what the server makes of them on the right. Each change is sent while the one before is answered,
// never two at a time.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Mark, PlaygroundCase, RenderAnswer, TestAnswer, TextName } from '../../playground-api.ts';
import { linkOf } from '../../playground-link.ts';
import { formerToken, keepToken, show, takeToken } from './address.ts';
import { ask } from './ask.ts';
import { Editor } from './editor.ts';
import { html } from './html.ts';
import { sentence, useRendering } from './rendering.ts';
import { Marks, WayResult } from './result.ts';
import { ShareBox } from './share.ts';
import { type Example, useTexts } from './texts.ts';
import { zipOf } from './zip.ts';

type Tab = 'forward' | 'back';

export interface AppProps {
  token: string;
  styleNonce: string;
  /** Where a person finds the token, in words. */
  tokenPlace: string;
  examples: readonly Example[];
}

export function App({ token: given, styleNonce, tokenPlace, examples }: AppProps): VNode {
  const [token, setToken] = useState(given);
  const [needsToken, setNeedsToken] = useState(given === '');
  const { texts, generation, example, aside, ...hand } = useTexts(examples);
  const { load } = hand;
  const [answer, setAnswer] = useState<RenderAnswer | undefined>(undefined);
  /** What the answer is about: texts from before the last change, until the next answer comes. */
  const [answerTexts, setAnswerTexts] = useState<PlaygroundCase | undefined>(undefined);
  /** The last answer with a result, which stays in sight while a fault is being mended. */
  const [last, setLast] = useState<RenderAnswer | undefined>(undefined);
  /** What the last answer with a result is about. */
  const [lastTexts, setLastTexts] = useState<PlaygroundCase | undefined>(undefined);
  /** Somebody has taken everything out of the edited host object, and wants it so. */
  const isEmptied = useRef(false);
  const [fault, setFault] = useState('');
  /** The answer is about texts from before the last change, which could not be evaluated. */
  const [isStale, setStale] = useState(false);
  const [tab, setTab] = useState<Tab>('forward');
  const [isSharing, setSharing] = useState(false);
  const goTo = useRef<Partial<Record<TextName, (line: number, column: number) => void>>>({});

  useEffect(() => {
    void load();
    const again = () => {
      // The address of another start may have been opened in this tab.
      const said = takeToken();
      setToken(said);
      setNeedsToken(said === '');
      setSharing(false);
      void load();
    };
    addEventListener('popstate', again);
    return () => removeEventListener('popstate', again);
  }, [load]);

  const take = (next: RenderAnswer, asked: PlaygroundCase) => {
    setAnswer(next);
    setAnswerTexts(asked);
    if (next.forward === undefined) return;
    setLast(next);
    setLastTexts(asked);
  };
  const { isBusy } = useRendering(texts, {
    token,
    onAnswer: take,
    onFault: (words) => {
      setFault(words);
      setStale(words !== '');
    },
    onNoToken: () => refused(),
  });

  const refused = () => {
    setFault('');
    const former = formerToken();
    if (former === undefined) return setNeedsToken(true);
    keepToken(former);
    setToken(former);
  };
  const openTab = (next: Tab) => {
    setTab(next);
    if (next === 'back') isEmptied.current = false;
  };
  // The answer may come after the tab was opened.
  useEffect(() => {
    const output = last?.forward?.output ?? '';
    const isEmpty = (texts.hostEdited ?? '') === '' && !isEmptied.current;
    if (tab === 'back' && isEmpty && output !== '' && lastTexts === texts) hand.replace('hostEdited', output);
  }, [tab, lastTexts, texts]);
  const editor = (name: TextName, label: string) => html`
    <${Editor} id=${`text-${name}`} label=${label} value=${texts[name] ?? ''} generation=${generation} styleNonce=${styleNonce}
      marks=${(answer?.marks ?? []).filter(({ text }) => text === name)} onChange=${(text: string) => {
        if (name === 'hostEdited') isEmptied.current = text === '';
        hand.write(name, text);
      }}
      onReady=${(lead: (line: number, column: number) => void) => {
        goTo.current[name] = lead;
      }} />`;
  const choose = (name: string) => {
    show({ kind: 'example', name });
    setSharing(false);
    void load();
  };
  const share = async () => {
    setSharing(true);
    hand.shared(texts, await linkOf(texts));
  };
  const download = async () => {
    const asked = await ask<TestAnswer>('test', { files: filesOf(texts, answer), update: true }, token);
    if (asked.kind === 'noToken') return refused();
    if (asked.kind === 'fault') return setFault(sentence(asked.sentence));
    const [problem] = asked.answer.problems;
    // The test names places in the files of the folder, which nobody has seen yet; the marks name those in the editors.
    if (problem !== undefined)
      return setFault(`Nothing to download yet: ${isMarked ? 'mend the faults on the right first.' : problem.text}`);
    save(zipOf('my-case', asked.answer.files), 'my-case.zip');
  };

  const isMarked = (answer?.marks ?? []).some(({ severity }) => severity === 'fault');
  const showsFault = example !== '' && !hand.isOwn && isMarked && answerTexts === texts;

  return html`
    <h1>Patch playground</h1>
    ${
      needsToken &&
      html`<${TokenForm} tokenPlace=${tokenPlace} isRefused=${token !== ''} onToken=${(said: string) => {
        keepToken(said);
        setToken(said);
        setNeedsToken(false);
      }} />`
    }
    <div class="tools">
      <label for="example">Example</label>
      <select id="example" value=${example} onChange=${(event: Event) => choose((event.target as HTMLSelectElement).value)}>
        <option value="" disabled>choose one</option>
        ${examples.map(({ name, about }) => html`<option value=${name}>${name}: ${about}</option>`)}
      </select>
      <button type="button" onClick=${share}>Share</button>
      <button type="button" onClick=${download}>Download</button>
    </div>
    ${isSharing && html`<${ShareBox} texts=${texts} />`}
    ${hand.fault !== '' && html`<p class="message" role="alert">${hand.fault}</p>`}
    ${aside !== undefined && html`<p class="notice">What you wrote in this tab before is kept. <button type="button" onClick=${hand.bringBack}>Bring it back</button></p>`}
    ${fault !== '' && html`<p class="message" role="alert">${fault}</p>`}
    <div class="columns">
      <section class="texts" aria-label="What you write">
        <h2 id="label-config">Patches</h2>
        <p class="quiet">A list of patches, or a whole <code>vcluster.yaml</code>.</p>
        ${editor('config', 'Patches')}
        <h2>Tenant's object</h2>
        <p class="quiet">Endpoints or EndpointSlices in the virtual cluster.</p>
        ${editor('virtual', "Tenant's object")}
        <details open=${texts.hostBefore !== ''}>
          <summary>Copy on the host before the write</summary>
          <p class="quiet">For patches that keep or read its values. May stay empty.</p>
          ${editor('hostBefore', 'Copy on the host before the write')}
        </details>
      </section>
      <section class="results" aria-label="What it becomes">
        <${Tabs} tab=${tab} onTab=${openTab} />
        <p class="quiet" role="status">${isBusy ? 'Working…' : isStale ? 'Not evaluated; the result below is older.' : summaryOf(answer)}</p>
        ${showsFault && html`<p class="notice">The example means to show a fault; the comment at the top of its patches says why.</p>`}
        <${Marks} marks=${answer?.marks ?? []} goTo=${(mark: Mark) => {
          if (mark.text === 'hostEdited') setTab('back');
          goTo.current[mark.text]?.(mark.line, mark.column);
        }} />
        ${last !== undefined && last !== answer && html`<p class="message">What is shown below is from before the fault.</p>`}
        <div id="panel-forward" role="tabpanel" aria-labelledby="tab-forward" hidden=${tab !== 'forward'}>
          ${last?.forward && html`<${WayResult} way=${last.forward} roundTrips=${last.roundTrips} unchanged="No patch changes this object." />`}
        </div>
        <div id="panel-back" role="tabpanel" aria-labelledby="tab-back" hidden=${tab !== 'back'}>
          <h2>Edited host object</h2>
          <p class="quiet">Edit a label or an annotation as somebody on the host would. Below is what the tenant gets.</p>
          ${editor('hostEdited', 'Edited host object')}
          <button type="button" onClick=${() => hand.replace('hostEdited', last?.forward?.output ?? '')}>Start from the host object</button>
          ${last?.back && html`<${WayResult} way=${last.back} roundTrips=${[]} unchanged="Nothing flows back to the tenant." />`}
        </div>
      </section>
    </div>`;
}

function summaryOf(answer: RenderAnswer | undefined): string {
  if (answer === undefined) return '';
  const count = (severity: Mark['severity']) => answer.marks.filter((mark) => mark.severity === severity).length;
  const parts = [counted(count('fault'), 'fault'), counted(count('warning'), 'warning')];
  if (answer.forward !== undefined) parts.push(`${counted(answer.forward.objects.length, 'host object')}`);
  return `${parts.join(', ')}; evaluated in ${answer.tookMs} ms.`;
}

function counted(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`;
}

function Tabs({ tab, onTab }: { tab: Tab; onTab: (tab: Tab) => void }): VNode {
  const tabs: readonly [Tab, string][] = [
    ['forward', 'To the host'],
    ['back', 'Back to the tenant'],
  ];
  const move = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return;
    const next = tab === 'forward' ? 'back' : 'forward';
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return html`<div role="tablist" aria-label="Direction" onKeyDown=${move}>${tabs.map(
    ([name, words]) => html`
      <button type="button" role="tab" id=${`tab-${name}`} aria-controls=${`panel-${name}`} aria-selected=${tab === name}
        tabindex=${tab === name ? 0 : -1} onClick=${() => onTab(name)}>${words}</button>`,
  )}</div>`;
}

function TokenForm({
  tokenPlace,
  isRefused,
  onToken,
}: {
  tokenPlace: string;
  isRefused: boolean;
  onToken: (token: string) => void;
}): VNode {
  const submit = (event: Event) => {
    event.preventDefault();
    const said = new FormData(event.target as HTMLFormElement).get('token') as string;
    // People copy the whole address.
    onToken((/token=([\w-]+)/.exec(said)?.[1] ?? said).trim());
  };
  return html`
    <form class="token" onSubmit=${submit}>
      ${isRefused && html`<p role="alert">The token is wrong, or from before the last start: it changes with every start.</p>`}
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="off" required aria-describedby="token-help" />
      <button type="submit">Use it</button>
      <p id="token-help" class="quiet">It is in ${tokenPlace}; paste it, or the whole address.</p>
    </form>`;
}

function filesOf(
  { config, virtual, hostBefore, hostEdited }: PlaygroundCase,
  answer: RenderAnswer | undefined,
): Record<string, string> {
  return {
    'config.yaml': answer?.config ?? config,
    'virtual.yaml': virtual,
    ...(hostBefore && { 'host-before.yaml': hostBefore }),
    ...(hostEdited && { 'back/host.yaml': hostEdited }),
  };
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
