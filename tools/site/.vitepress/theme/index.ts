import { useData, withBase } from 'vitepress';
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import { Diagram } from './diagram.ts';
import { FrontPage } from './front-page.ts';
import './style.css';

/** The page's source: for agents, and for people who want to copy it. */
const MarkdownLink = {
  setup() {
    const { page } = useData();
    return () =>
      h('p', { class: 'markdown-link' }, [
        h('a', { href: withBase(`/${page.value.relativePath}`) }, 'This page as Markdown'),
      ]);
  },
};

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-footer-before': () => h(MarkdownLink) }),
  enhanceApp: ({ app }) => {
    app.component('Diagram', Diagram);
    app.component('FrontPage', FrontPage);
  },
} satisfies Theme;
