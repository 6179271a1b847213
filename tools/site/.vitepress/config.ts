import { posix } from 'node:path';
import { defineConfig } from 'vitepress';
import { documentation } from '../../agent-files.ts';
import { repository, siteLink, sitePath } from '../links.ts';

const base = '/express-auth-adapters/';
const pictures = 'https://raw.githubusercontent.com/express-auth-adapters/express-auth-adapters/main/docs/screenshots/';

/** The same text as a heading's anchor on GitHub, which the pages' links use. */
const slugify = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** People look for "login" and "2fa"; the pages say "sign in" and "second factor". The search knows each word without punctuation. */
const processTerm = (term: string): string => {
  const word = term.toLowerCase();
  const said: Record<string, string> = {
    login: 'sign',
    log: 'sign',
    signin: 'sign',
    logout: 'sign',
    mfa: 'factor',
    '2fa': 'factor',
  };
  return said[word] ?? word;
};

/** A list of texts or options has every word; a task has the answer. */
const boostDocument = (id: string): number =>
  /\/(?:texts|options|errors)\./.test(id) ? 0.2 : id.includes('/tasks.') ? 2 : 1;

const byTask = documentation().map(({ heading, pages }) => ({
  text: heading,
  items: pages.map(({ path, title }) => ({ text: title, link: `/${sitePath(path).replace(/index\.md$|\.md$/, '')}` })),
}));

export default defineConfig({
  title: 'express-auth-adapters',
  description: 'Sign-in for Express through WorkOS AuthKit or Supabase Auth',
  lang: 'en-US',
  base,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}favicon.svg` }]],
  srcDir: '../../docs',
  outDir: '../../reports/site',
  cacheDir: '../../reports/site-cache',
  srcExclude: ['contributing.md', 'contributing/**'],
  rewrites: { 'README.md': 'index.md', 'recipes/README.md': 'recipes/index.md' },
  sitemap: { hostname: 'https://express-auth-adapters.github.io/express-auth-adapters/' },
  ignoreDeadLinks: 'localhostLinks',
  vite: { publicDir: '../reports/site-public' },
  transformPageData: ({ relativePath }) => (relativePath === 'index.md' ? { title: 'Sign-in for Express' } : {}),
  transformHead: ({ page }) => [['link', { rel: 'alternate', type: 'text/markdown', href: `${base}${page}` }]],
  themeConfig: {
    nav: [
      { text: 'Supabase', link: '/quickstart-supabase' },
      { text: 'WorkOS', link: '/quickstart-workos' },
      { text: 'Tasks', link: '/tasks' },
      { text: 'Recipes', link: '/recipes/' },
      { text: 'API', link: '/api/', target: '_self' },
    ],
    sidebar: [{ text: 'Overview', link: '/' }, ...byTask],
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { miniSearch: { options: { processTerm }, searchOptions: { boostDocument } } },
    },
    notFound: {
      title: 'This page does not exist',
      quote: 'It may have moved. Look for it in the overview, or search.',
      linkLabel: 'Overview',
      linkText: 'Overview',
    },
    socialLinks: [{ icon: 'github', link: repository }],
  },
  markdown: {
    anchor: { slugify },
    // Those of GitHub do not all reach 4.5 : 1.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    linkify: false,
    languageAlias: { ejs: 'html' },
    config(md) {
      md.core.ruler.push('site-links', (state) => {
        const page = `docs/${posix.join(posix.dirname(state.env.relativePath), posix.basename(state.env.path))}`;
        for (const { children } of state.tokens) {
          for (const token of children ?? []) {
            const name = token.type === 'image' ? 'src' : token.type === 'link_open' ? 'href' : undefined;
            const target = name === undefined ? null : token.attrGet(name);
            if (name === undefined || target === null) continue;
            token.attrSet(
              name,
              target.startsWith(pictures) ? `/screenshots/${target.slice(pictures.length)}` : siteLink(target, page),
            );
          }
        }
      });
      // The first page of the site has more than a heading.
      md.core.ruler.push('front-page', (state) => {
        if (state.env.relativePath !== 'index.md') return;
        const heading = new state.Token('html_block', '', 0);
        heading.content = '<FrontPage />\n';
        state.tokens.splice(0, 3, heading);
      });
      // A heading without text says nothing to a screen reader.
      md.core.ruler.push('empty-headers', ({ tokens }) => {
        tokens.forEach((token, index) => {
          const [content, close] = tokens.slice(index + 1);
          if (token.type !== 'th_open' || content?.content !== '' || close === undefined) return;
          token.tag = 'td';
          close.tag = 'td';
        });
      });
      md.core.ruler.push('long-cells', ({ tokens }) => {
        tokens.forEach((token, index) => {
          const parts = tokens[index + 1]?.children ?? [];
          const length = parts.reduce((sum, { type, content }) => sum + (type === 'image' ? 0 : content.length), 0);
          if (token.type === 'td_open' && length > 24) token.attrSet('class', 'long');
        });
      });
      const { code_inline: inlineCode, fence } = md.renderer.rules;
      // Vue would read `{{ .SiteURL }}` as an expression of its own.
      md.renderer.rules.code_inline = (tokens, index, ...others) => {
        tokens[index]?.attrSet('v-pre', '');
        return inlineCode?.(tokens, index, ...others) ?? '';
      };
      md.renderer.rules.fence = (tokens, index, ...others) => {
        const token = tokens[index];
        if (token?.info.trim() !== 'mermaid') return fence?.(tokens, index, ...others) ?? '';
        return `<Diagram source="${md.utils.escapeHtml(token.content)}" />\n`;
      };
    },
  },
});
