// The frame of every page: head, navigation, main part, and the headers that close the page to strangers. In: a title and finished
// HTML. Out: an answer. It must never know what a page shows.
import type { LocalReply } from '../../apiserver/local/routes.ts';
import { type Html, html } from './html.ts';

export interface PolicyOptions {
  /** For styles that an editor writes into the page. */
  styleNonce?: string;
  /** Whether a form may be sent to this port. */
  hasForm?: boolean;
}

/** Nothing is loaded from elsewhere, nothing frames the page, and no script may make HTML from text. */
function contentSecurityPolicy({ styleNonce, hasForm = false }: PolicyOptions = {}): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${styleNonce === undefined ? '' : ` 'nonce-${styleNonce}'`}`,
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    `form-action ${hasForm ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

export interface PageParts {
  title: string;
  /** Paths of scripts and stylesheets: Assets.path(). */
  scripts: readonly string[];
  styles: readonly string[];
  /** Further elements of the head. */
  head?: Html;
  /** Paths and words of the navigation; `current` is the path of this page. */
  links: readonly { path: string; words: string }[];
  current: string;
  main: Html;
  policy?: PolicyOptions;
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

export function pageReply({ policy, status = 200, headers, ...parts }: PageParts): LocalReply {
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    text: pageHtml(parts).text,
    headers: { 'content-security-policy': contentSecurityPolicy(policy), ...headers },
  };
}

function pageHtml({ title, scripts, styles, head, links, current, main }: PageParts): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${styles.map((path) => html`<link rel="stylesheet" href="${path}">\n`)}${scripts.map((path) => html`<script type="module" src="${path}"></script>\n`)}${head}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><nav aria-label="Pages"><strong>Hostward</strong>${links.map(({ path, words }) => link(path, words, current))}</nav></header>
<main id="main" tabindex="-1">
${main}
</main>
</body>
</html>
`;
}

function link(path: string, words: string, current: string): Html {
  return html` <a href="${path}"${path === current && html` aria-current="page"`}>${words}</a>`;
}
