"""What a voice says to be known by: some seven seconds of plain text in each language.

It is read aloud by whoever records a voice, spoken by a voice that is drawn from a description, and
by a preset that is kept. It holds a question and a list, so that a voice moves, and no name or
number that could be said in two ways.
"""

from menura import languages

SAMPLES = {
    "english": "Good morning! Did you hear the birds outside? I like to sit by the open window "
    "with a cup of tea, a good book, and a little time before the day begins.",
    "chinese": "早上好！你听见外面的鸟叫了吗？我喜欢坐在打开的窗边，泡一杯茶，读一本好书，"
    "在一天开始之前安静地待一会儿。",
    "japanese": "おはようございます。外の鳥の声が聞こえましたか。窓のそばに座って、お茶を"
    "飲みながら、好きな本を読む時間が大好きです。",
    "korean": "좋은 아침이에요! 밖에서 새들이 우는 소리 들었어요? 저는 창가에 앉아 차를 마시면서 "
    "좋은 책을 읽는 시간을 좋아해요.",
    "german": "Guten Morgen! Hast du draußen die Vögel gehört? Ich sitze gern am offenen Fenster, "
    "mit einer Tasse Tee, einem guten Buch und ein wenig Zeit, bevor der Tag beginnt.",
    "french": "Bonjour ! As-tu entendu les oiseaux dehors ? J'aime m'asseoir près de la fenêtre "
    "ouverte, avec une tasse de thé, un bon livre et un peu de temps avant que le jour commence.",
    "russian": "Доброе утро! Ты слышишь, как поют птицы за окном? Я люблю сидеть у открытого окна "
    "с чашкой чая и хорошей книгой, пока день ещё не начался.",
    "portuguese": "Bom dia! Ouviste os pássaros lá fora? Gosto de me sentar junto à janela aberta, "
    "com uma chávena de chá, um bom livro e um pouco de tempo antes de o dia começar.",
    "spanish": "¡Buenos días! ¿Has oído los pájaros ahí fuera? Me gusta sentarme junto a la "
    "ventana abierta, con una taza de té, un buen libro y algo de tiempo antes de empezar el día.",
    "italian": "Buongiorno! Hai sentito gli uccelli qui fuori? Mi piace sedermi vicino alla "
    "finestra aperta, con una tazza di tè, un buon libro e un po' di tempo prima di cominciare.",
    "dutch": "Goedemorgen! Heb je buiten de vogels gehoord? Ik zit graag bij het open raam, met "
    "een kop thee, een goed boek en een beetje tijd voordat de dag begint.",
    "polish": "Dzień dobry! Czy słyszysz ptaki za oknem? Lubię siedzieć przy otwartym oknie "
    "z filiżanką herbaty i dobrą książką, zanim zacznie się dzień.",
    "swedish": "God morgon! Hörde du fåglarna där ute? Jag tycker om att sitta vid det öppna "
    "fönstret med en kopp te, en bra bok och lite tid innan dagen börjar.",
}


def sample_text(language: str | None) -> str:
    """The text for a language, by its name or code; English for none, and where there is none."""
    name = "english" if language is None else languages.name_of(language)
    return SAMPLES.get(name, SAMPLES["english"])
