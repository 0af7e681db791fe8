// An editor for YAML with faults at their places. Tab leaves it, so that nobody is caught in it without a mouse.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { Annotation, EditorState, type Text } from '@codemirror/state';
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { safeText, unsafeInLines } from '../../../safe-text.ts';
import type { Mark } from '../../playground-api.ts';
import { html } from './html.ts';

export interface EditorProps {
  id: string;
  label: string;
  value: string;
  /** Changes when the value comes from elsewhere. What the editor itself reports must not be written back, because people have typed more since. */
  generation: number;
  marks: readonly Mark[];
  styleNonce: string;
  onChange: (value: string) => void;
  /** Hands out a function that leads to a place in the text. */
  onReady: (goTo: (line: number, column: number) => void) => void;
}

const fromElsewhere = Annotation.define<boolean>();

export function Editor({ id, label, value, generation, marks, styleNonce, onChange, onReady }: EditorProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const changed = useRef(onChange);
  changed.current = onChange;
  useEffect(() => {
    const made = open({
      parent: place.current as HTMLDivElement,
      label,
      value,
      styleNonce,
      changed: (text) => changed.current(text),
    });
    view.current = made;
    onReady((line, column) => {
      const at = offsetOf(made.state.doc, line, column);
      made.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
      made.focus();
    });
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const now = view.current;
    if (now === undefined || now.state.doc.toString() === value) return;
    const changes = { from: 0, to: now.state.doc.length, insert: value };
    now.dispatch({ changes, annotations: fromElsewhere.of(true) });
  }, [generation]);
  useEffect(() => {
    const now = view.current;
    if (now === undefined) return;
    now.dispatch(
      setDiagnostics(
        now.state,
        marks.map((mark) => diagnosticOf(now.state.doc, mark)),
      ),
    );
  }, [marks]);
  return html`<div id=${id} class="editor" ref=${place}></div>`;
}

function open(given: {
  parent: HTMLElement;
  label: string;
  value: string;
  styleNonce: string;
  changed: (text: string) => void;
}): EditorView {
  return new EditorView({
    parent: given.parent,
    state: EditorState.create({
      doc: given.value,
      extensions: [
        EditorView.cspNonce.of(given.styleNonce),
        EditorView.contentAttributes.of({ 'aria-label': given.label, tabindex: '0' }),
        EditorView.lineWrapping,
        EditorView.updateListener.of((update) => {
          const isOwn = update.transactions.every((one) => one.annotation(fromElsewhere) !== true);
          if (update.docChanged && isOwn) given.changed(update.state.doc.toString());
        }),
        EditorView.domEventHandlers({ beforeinput: replaceSelected }),
        lineNumbers(),
        highlightSpecialChars({ addSpecialChars: unsafeInLines, render: specialCharacter }),
        history(),
        indentOnInput(),
        bracketMatching(),
        yaml(),
        syntaxHighlighting(classHighlighter),
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
        looks,
      ],
    }),
  });
}

/**
 * Typing over selected text would let the browser keep the colours of that text in a style attribute, which the policy of the page
 * refuses and reports.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const isTyped = event.inputType === 'insertText' && event.data !== null && !event.isComposing;
  if (!isTyped || view.state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data as string), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

/** The escape that the rest of the page shows, instead of a dot that hides which character it is. */
function specialCharacter(code: number, description: string | null): HTMLElement {
  const shown = document.createElement('span');
  shown.className = 'cm-specialChar';
  shown.textContent = safeText(String.fromCodePoint(code));
  shown.title = description ?? 'Special character';
  shown.setAttribute('aria-label', shown.textContent);
  return shown;
}

/** The library's own marks are pictures in data URLs, which the policy of the page refuses. */
const looks = EditorView.theme({
  '&': { backgroundColor: 'var(--ground)', color: 'var(--text)' },
  '&.cm-focused': { outline: '3px solid var(--link)', outlineOffset: '2px' },
  '.cm-content': { fontFamily: 'var(--mono)', fontSize: '0.875rem', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--quiet)', borderRight: '1px solid var(--line)' },
  '.cm-lintRange': { backgroundImage: 'none', paddingBottom: '0' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--second)' },
  '.cm-lintPoint:after': { display: 'none' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    maxWidth: 'min(40rem, 90vw)',
  },
  '.cm-diagnostic': { whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' },
  '.cm-diagnostic-error': { borderLeft: '5px solid var(--bad)' },
  '.cm-diagnostic-warning': { borderLeft: '5px solid var(--second)' },
  '.cm-specialChar': { color: 'var(--bad)', textDecoration: 'underline dotted' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)' },
});

function diagnosticOf(text: Text, { line, column, severity, message }: Mark): Diagnostic {
  const from = offsetOf(text, line, column);
  const rest = text.lineAt(from).text.slice(from - text.lineAt(from).from);
  // Marks a word or the rest of the line, because a mark of one character is easily missed.
  const length = /^[\w$]+/.exec(rest)?.[0].length ?? Math.max(1, rest.trimEnd().length);
  const to = Math.min(text.length, from + length);
  return {
    from: Math.min(from, to),
    to,
    severity: severity === 'fault' ? 'error' : 'warning',
    message: safeText(message),
  };
}

/** The text may have become shorter since the server saw it. */
function offsetOf(text: Text, line: number, column: number): number {
  const found = text.line(Math.min(Math.max(1, line), text.lines));
  return Math.min(found.from + Math.max(0, column - 1), found.to);
}
